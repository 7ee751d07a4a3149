/*
 * explain.h - what a statement costs, by EXPLAIN.
 */
#ifndef UMAVEZ_TESTS_EXPLAIN_H
#define UMAVEZ_TESTS_EXPLAIN_H

#include <libpq-fe.h>
#include <stdint.h>

/* Run the statement, with all that the functions in it do; the pages that it looked at.  Planning
 * is not counted, but for that of what is inside functions.  An SQL error ends the program. */
int64_t explain_pages(PGconn *conn, const char *sql);

#endif
