/*
 * failpoint.h - named places to die at, for crash tests.  Nothing unless UMAVEZ_FAILPOINTS=1.
 *
 * UMAVEZ_FAILPOINTS="relay.after_append=crash@3;consumer.before_commit=sleep(200)"
 * Actions: crash (SIGKILL to itself), exit (status 1, no clean-up), error, sleep(ms), hang.
 * @n: only the n-th hit; %p: each hit with probability p (0..1), repeatable under UMAVEZ_SEED.
 * UMAVEZ_FAILPOINT_LOG=path: the name of each point is appended, once a process, when first hit.
 */
#ifndef UMAVEZ_FAILPOINT_H
#define UMAVEZ_FAILPOINT_H

#include "common/err.h"

/* What --version says of such a build, after the version. */
#define FAILPOINT_MARK_WITH " with crash points"
#define FAILPOINT_MARK (UMAVEZ_FAILPOINTS ? FAILPOINT_MARK_WITH : "")

/* Every point that exists, NULL-terminated: tests walk it. */
extern const char *const failpoint_names[];

/* Read the environment; an unknown name or a malformed action is ERR_USAGE. */
int failpoint_init(struct err *err) warn_unused;

/* -1 with ERR_RETRY when the action is `error`. */
int failpoint_hit(const char *name, struct err *err);

#if UMAVEZ_FAILPOINTS
#define FAILPOINT(name) ((void)failpoint_hit(name, NULL))
#define FAILPOINT_ERR(name, err) failpoint_hit(name, err)
#else
#define FAILPOINT(name) ((void)0)
#define FAILPOINT_ERR(name, err) (0)
#endif

#endif
