/*
 * main.c - umavez COMMAND: the operator's tool.
 */
#include "cli/command.h"
#include "cli/print.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATUS_USAGE = 2 };

static void print_help(FILE *out)
{
	fputs("Usage: umavez COMMAND [OPTION]...\n\n", out);
	for (const struct command *c = commands; c->name; c++)
		fprintf(out, "  %-11s  %s\n", c->name, c->summary);
	fputs("\n`umavez COMMAND --help` tells the options of a command.\n", out);
}

static bool is_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

static int run(int argc, char **argv)
{
	if (argc < 2) {
		print_help(stderr);
		return STATUS_USAGE;
	}
	if (is_help(argv[1])) {
		print_help(stdout);
		return EXIT_SUCCESS;
	}
	if (strcmp(argv[1], "--version") == 0) {
		puts("umavez " UMAVEZ_VERSION);
		return EXIT_SUCCESS;
	}
	for (const struct command *c = commands; c->name; c++) {
		if (strcmp(argv[1], c->name) == 0)
			return c->run(argc - 1, argv + 1);
	}
	char *escaped = print_escape(argv[1]);
	fprintf(stderr, "umavez: no such command: %s (try umavez --help)\n", escaped);
	free(escaped);
	return STATUS_USAGE;
}

int main(int argc, char **argv)
{
	int status = run(argc, argv);

	if ((fflush(stdout) != 0 || ferror(stdout)) && status == EXIT_SUCCESS) {
		fprintf(stderr, "umavez: cannot write: %s\n", strerror(errno));
		return EXIT_FAILURE;
	}
	return status;
}
