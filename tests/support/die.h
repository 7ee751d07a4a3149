/*
 * die.h - the end of a test program that cannot have its set-up.
 */
#ifndef UMAVEZ_TESTS_DIE_H
#define UMAVEZ_TESTS_DIE_H

/* Print the message to stderr and exit(1): a test without its set-up is a failed test. */
void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif
