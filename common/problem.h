/*
 * problem.h - errors as RFC 9457 problem documents.
 */
#ifndef UMAVEZ_PROBLEM_H
#define UMAVEZ_PROBLEM_H

#include <stddef.h>

#define PROBLEM_TYPE "application/problem+json"

/* RFC 9110, section 15. "Error" for a status that we never send. */
const char *problem_title(int status);

/* {"type":"about:blank","title":...,"status":...,"detail":...}; malloc'd. The type says that the
 * title is the status' own (RFC 9457, section 4.2.1). */
char *problem_document(int status, const char *detail, size_t *ret_len);

/* A whole HTTP/1.1 response that closes its connection, for a request that never became one;
 * malloc'd. */
char *problem_response(int status, const char *detail, size_t *ret_len);

#endif
