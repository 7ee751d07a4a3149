/*
 * pause.h - the time that passes, and waiting for some to pass.
 */
#ifndef UMAVEZ_TESTS_PAUSE_H
#define UMAVEZ_TESTS_PAUSE_H

#include <stdint.h>

/* Milliseconds on a clock that never steps. */
int64_t now_ms(void);
void sleep_ms(int64_t ms);

/* Sleep before the next look at what has been awaited since then: longer, the longer it takes,
 * since a look costs what others could use to bring it about. */
void poll_pause(int64_t since_ms);

#endif
