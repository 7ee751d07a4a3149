/*
 * pooler.h - what stands between us and PostgreSQL and does not take our session settings.
 */
#ifndef UMAVEZ_TESTS_POOLER_H
#define UMAVEZ_TESTS_POOLER_H

enum pooler_kind {
	POOLER_REFUSES, /* "unsupported startup parameter: options", as pgbouncer says it */
	POOLER_DROPS    /* options are dropped in silence (ignore_startup_parameters) */
};

struct pooler;

/* In front of the server whose socket is in server_dir; its own socket will be in dir. */
struct pooler *pooler_open(enum pooler_kind kind, const char *dir, const char *server_dir);
void pooler_close(struct pooler *p);

#endif
