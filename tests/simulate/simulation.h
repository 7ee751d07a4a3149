/*
 * simulation.h - one `umavez simulate` and what it said, in a $TMPDIR of its own.
 */
#ifndef UMAVEZ_TESTS_SIMULATION_H
#define UMAVEZ_TESTS_SIMULATION_H

#include <jansson.h>
#include <stdint.h>

/* --json --quiet and these; the exit status is checked, and that nothing is left on disk. */
json_t *simulation(int status, const char *const *args);

/* The same with neither option: stdout and stderr, malloc'd; either may be NULL. */
void simulation_text(int status, const char *const *args, char **ret_out, char **ret_err);

int64_t simulation_int(const json_t *ledger, const char *name);

/* A directory for one test; it must be empty when it goes. malloc'd. */
char *own_directory(void);
void own_directory_done(char *dir);

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

#endif
