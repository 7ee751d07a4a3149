#include "common/log.h"
#include "common/memory.h"
#include "common/option_value.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HELP_COLUMN = 34 };

static const char *placeholder(const struct option *row)
{
	switch (row->type) {
	case OPT_STRING:
	case OPT_LIST:
		return " TEXT";
	case OPT_NAME:
		return " NAME";
	case OPT_PG_URL:
	case OPT_REDIS_URL:
		return " URL";
	case OPT_ADDRESS:
		return " ADDRESS";
	case OPT_INT:
		return " N";
	case OPT_FRACTION:
		return " 0..1";
	case OPT_DURATION:
		return " TIME";
	case OPT_SIZE:
		return " SIZE";
	case OPT_BOOL:
		return "[=off]";
	case OPT_CHOICE:
		return " WORD";
	}
	return "";
}

static void print_row(const char *name, const char *value, const char *help)
{
	int n = printf("  --%s%s", name, value);

	if (n >= HELP_COLUMN) {
		putchar('\n');
		n = 0;
	}
	printf("%*s%s\n", HELP_COLUMN - n, "", help);
}

static void print_note(const char *label, const char *text)
{
	printf("%*s%s%s\n", HELP_COLUMN, "", label, text);
}

static void print_variable(const struct option *row)
{
	printf("%*s[", HELP_COLUMN, "");
	if (row->variable) {
		fputs(row->variable, stdout);
	} else {
		fputs("UMAVEZ_", stdout);
		for (const char *c = row->name; *c; c++)
			putchar(*c == '-' ? '_' : toupper((unsigned char)*c));
	}
	puts(row->type == OPT_LIST ? ", comma-separated]" : "]");
}

/* Any text may come from a file; worth saying it is where a password may be part of it. */
static bool may_be_secret(const struct option *row)
{
	return (row->flags & OPT_SECRET) || row->type == OPT_PG_URL || row->type == OPT_REDIS_URL;
}

static void print_option(const struct option *row)
{
	print_row(row->name, placeholder(row), row->help);
	if (row->type == OPT_CHOICE)
		print_note("one of: ", row->choices);
	if (row->type == OPT_LIST)
		print_note("", "may be given again");
	if (may_be_secret(row) && option_value_takes_file(row))
		printf("%*sor from a file: --%s-file PATH\n", HELP_COLUMN, "", row->name);
	if (row->flags & OPT_REQUIRED)
		print_note("", "required");
	else if (row->fallback && !(row->flags & OPT_UNSET))
		print_note("default: ", row->fallback);
	print_variable(row);
}

void option_help(const char *program, const char *usage, const struct option *table)
{
	printf("Usage: %s %s\n\n", program, usage);
	for (const struct option *row = table; row->name; row++)
		print_option(row);
	print_row("help", "", "Show this and exit; also -h");
	print_row("version", "", "Show the version and exit");
}

void option_dump(const struct option *table, const void *config)
{
	size_t n = 0;

	while (table[n].name)
		n++;
	struct log_field *fields = mem_zalloc(n + 1, sizeof(*fields));
	char **texts = mem_zalloc(n, sizeof(*texts));
	for (size_t i = 0; i < n; i++) {
		texts[i] = option_value_text(&table[i], config);
		fields[i] = lf_str(table[i].name, texts[i]);
	}
	log_write(LOG_INFO, "configuration", fields);
	for (size_t i = 0; i < n; i++)
		free(texts[i]);
	free(texts);
	free(fields);
}

/* Replace *len bytes at url+at by "***". */
static char *replace(char *url, size_t at, size_t len)
{
	char *masked = mem_printf("%.*s***%s", (int)at, url, url + at + len);

	free(url);
	return masked;
}

/* Up to what may follow one in a URL. */
static bool is_port(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	return digits > 0 && (!text[digits] || strchr("/?,", text[digits]));
}

/*
 * The password of "scheme://user:password@...", when parameters are masked already.  The last '@'
 * ends it, so that one that should have been percent-encoded is hidden whole.  Where a parameter
 * has taken the last one along (had_at), and no port begins behind the ':', it may have been the
 * end of a password that looks like a parameter: then all is hidden.
 */
static char *mask_userinfo(char *url, bool had_at)
{
	const char *authority = strstr(url, "://");
	const char *end = strrchr(url, '@');
	const char *colon = authority ? strchr(authority + 3, ':') : NULL;

	if (!colon)
		return url;
	if (!end && had_at && !is_port(colon + 1))
		end = colon + strlen(colon);
	if (!end || end < colon)
		return url;
	return replace(url, (size_t)(colon + 1 - url), (size_t)(end - colon - 1));
}

/* libpq's white space. */
static const char blanks[] = " \t\n\v\f\r";

static bool is_url(const char *text)
{
	return strncmp(text + strspn(text, "abcdefghijklmnopqrstuvwxyz+-"), "://", 3) == 0;
}

/* How long the value is that begins here: up to the next parameter of a URL, or in libpq's keyword
 * form up to white space that is not escaped; after a quote all that follows. */
static size_t value_length(const char *value, bool in_url)
{
	size_t len = 0;

	if (in_url)
		return strcspn(value, "&");
	if (*value == '\'')
		return strlen(value);
	while (value[len] && !strchr(blanks, value[len]))
		len += value[len] == '\\' && value[len + 1] ? 2 : 1;
	return len;
}

/* The character of a URL that begins here, percent-encoded or not; its length there. */
static size_t decode(const char *text, char *ret)
{
	if (*text == '%' && isxdigit((unsigned char)text[1]) && isxdigit((unsigned char)text[2])) {
		const char digits[] = {text[1], text[2], '\0'};

		*ret = (char)strtol(digits, NULL, 16);
		return 3;
	}
	*ret = *text;
	return 1;
}

/* How long the word "password" is that begins here; 0: none does. */
static size_t key_length(const char *text, bool in_url)
{
	size_t len = 0;

	for (const char *want = "password"; *want; want++) {
		char c = text[len];

		len += in_url ? decode(text + len, &c) : 1;
		if (tolower((unsigned char)c) != *want)
			return 0;
	}
	return len;
}

/* "password=..." as a URL's parameter or in libpq's keyword form:
 * https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-CONNSTRING */
static char *mask_parameters(char *url)
{
	bool in_url = is_url(url);

	for (size_t from = 0; url[from]; from++) {
		size_t at = from + key_length(url + from, in_url);

		if (at == from)
			continue;
		at += strspn(url + at, blanks);
		if (url[at] != '=')
			continue;
		at++;
		if (!in_url) /* where blanks are the password's */
			at += strspn(url + at, blanks);
		url = replace(url, at, value_length(url + at, in_url));
		from = at + 2;
	}
	return url;
}

char *option_mask_url(const char *url)
{
	return mask_userinfo(mask_parameters(mem_strdup(url)), strchr(url, '@') != NULL);
}
