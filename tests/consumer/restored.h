/*
 * restored.h - an effects database that goes back to an earlier moment, and the relay's part in
 * what comes of it, which the test plays.
 */
#ifndef UMAVEZ_TESTS_CONSUMER_RESTORED_H
#define UMAVEZ_TESTS_CONSUMER_RESTORED_H

#include "tests/consumer/stage.h"

#define RESTORED_TICK INT64_C(1767225600000)
#define RESTORED_ASK "ask:" STAGE_CONSUMER
#define RESTORED_ANSWER "answer:" STAGE_CONSUMER
#define RESTORED_CURSOR "1767225600000-10"

/* The database forgets what came after message 10. */
void restored_forget(struct stage *s);

/* Messages 1 to 20 are applied and told, the consumer is stopped, and the database forgets. */
struct stage *restored_open(struct proc **ret_consumer);

/* The stream lacks 1 to 15. */
void restored_trim(struct stage *s);

/* All of that; the consumer runs again, and asks for what the stream lacks. */
struct stage *restored_asking(struct proc **ret_consumer);

/* What the relay does: it answers the question of that cursor, and everything from 11 to last comes
 * again, under one tick. */
void restored_answer(struct stage *s, const char *to, const char *what);
void restored_play(struct stage *s, int64_t tick, int last);

#endif
