/*
 * What a terminal gets: aligned, escaped, coloured only where that is wanted.
 */
#include "cli/print.h"
#include "tests/support/check.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void check_escaped(const char *raw, const char *want)
{
	char *escaped = print_escape(raw);

	CHECK_STR(escaped, want);
	free(escaped);
}

static void check_escape(void)
{
	check_escaped("plain, caf\u00e9 \u65e5", "plain, caf\u00e9 \u65e5");
	check_escaped("\033[31mred\a\n", "\\u{1b}[31mred\\u{7}\\u{a}");
	check_escaped("a\u202eb\u2066c\xc2\x85", "a\\u{202e}b\\u{2066}c\\u{85}");
	check_escaped("\xff\xc0\x80 \xe2\x82", "\\xff\\xc0\\x80 \\xe2\\x82");
	check_escaped("", "");
}

/* What this table prints as. */
static char *printed(const struct table *t, bool colour, unsigned indent)
{
	char *text = NULL;
	size_t size;
	struct printer p = {open_memstream(&text, &size), colour};

	table_print(t, &p, indent);
	fclose(p.out);
	return text;
}

static void check_table(void)
{
	struct table *t = table_new("lrl");
	char *text;

	table_cell(t, TINT_HEAD, "caf\u00e9");
	table_cell(t, TINT_PLAIN, "%d", 7);
	table_cell(t, TINT_PLAIN, "end");
	table_cell(t, TINT_PLAIN, "a");
	table_cell(t, TINT_BAD, "%d", 1234);
	table_cell(t, TINT_PLAIN, "%s", "\033");
	text = printed(t, false, 2);
	CHECK_STR(text, "  caf\u00e9     7  end\n  a     1234  \\u{1b}\n");
	free(text);
	text = printed(t, true, 0);
	CHECK_STR(text, "\033[1mcaf\u00e9\033[0m     7  end\na     \033[31m1234\033[0m  \\u{1b}\n");
	free(text);
	table_cell(t, TINT_PLAIN, "b");
	table_cell(t, TINT_PLAIN, "%s", "");
	table_cell(t, TINT_PLAIN, "%s", "");
	text = printed(t, false, 0);
	CHECK_STR(text, "caf\u00e9     7  end\na     1234  \\u{1b}\nb\n");
	free(text);
	table_free(t);
}

static FILE *terminal(int *ret_master)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY);

	CHECK(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
	*ret_master = master;
	return fopen(ptsname(master), "r+");
}

static void check_colour(void)
{
	struct printer p;
	int master;
	FILE *tty = terminal(&master), *file = tmpfile();

	CHECK(tty && file);
	unsetenv("NO_COLOR");
	printer_init(&p, tty);
	CHECK(p.colour);
	printer_init(&p, file);
	CHECK(!p.colour);
	setenv("NO_COLOR", "", 1);
	printer_init(&p, tty);
	CHECK(p.colour);
	setenv("NO_COLOR", "1", 1);
	printer_init(&p, tty);
	CHECK(!p.colour);
	unsetenv("NO_COLOR");
	fclose(tty);
	fclose(file);
	close(master);
}

static void check_json(void)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	json_t *json = json_pack("{s:o, s:o, s:o}", "a", print_json_text("caf\u00e9\u202e"), "b",
	    print_json_text(NULL), "c", print_json_text("\xff"));

	print_json(out, json);
	fclose(out);
	CHECK_STR(text, "{\"a\":\"caf\\u00E9\\u202E\",\"b\":null,\"c\":\"\\\\xff\"}\n");
	free(text);
}

static const struct check checks[] = {
    {"escapes what a terminal would obey", check_escape},
    {"a table is aligned", check_table},
    {"colour only on a terminal, and not with NO_COLOR", check_colour},
    {"JSON is ASCII", check_json},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("cli print", checks, argc, argv);
}
