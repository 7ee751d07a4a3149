/*
 * trace_private.h - what trace_tell() is made of: the steps, and the verdict about them.
 */
#ifndef UMAVEZ_CLI_TRACE_PRIVATE_H
#define UMAVEZ_CLI_TRACE_PRIVATE_H

#include "cli/trace.h"

/* Each step that is known, in the order of the message's way. */
void trace_tell_steps(const struct trace *t, struct trace_verdict *v);

/* Below the stream's first entry. */
bool trace_is_trimmed(const struct trace *t, const struct trace_position *p);

/* In the stream, applied from it, or trimmed from its beginning. */
bool trace_is_published(const struct trace *t, const struct trace_position *p);

bool trace_is_parked_as(const struct trace_consumer *c, const char *state);
enum trace_outcome trace_parked_outcome(const struct trace_consumer *c); /* of a parked one */

#endif
