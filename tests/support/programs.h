/*
 * programs.h - where this machine has the servers' programs.
 */
#ifndef UMAVEZ_TESTS_PROGRAMS_H
#define UMAVEZ_TESTS_PROGRAMS_H

/* The directory of initdb and postgres: what pg_config says, else the newest that Debian has below
 * /usr/lib/postgresql, else from PATH. malloc'd; NULL: none has both. */
char *programs_postgres(void);

/* NULL if PostgreSQL and Redis are there; else what is missing and what to install, one line. */
const char *programs_missing(void);

#endif
