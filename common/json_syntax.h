/*
 * json_syntax.h - is a text one JSON value (RFC 8259)?
 *
 * Syntax alone, as PostgreSQL's type json has it: numbers of any size, \u0000, lone surrogates and
 * any depth pass, since what the outbox could hold must not be refused behind it.
 */
#ifndef UMAVEZ_JSON_SYNTAX_H
#define UMAVEZ_JSON_SYNTAX_H

#include <stdbool.h>
#include <stddef.h>

/* White space around the value is fine.  Bytes above 0x7f inside strings are not looked at. */
bool json_syntax_valid(const char *text, size_t len);

#endif
