#include "tests/bench/pgbench.h"

#include "tests/support/die.h"
#include "tests/support/files.h"
#include "tests/support/proc.h"
#include "tests/support/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PGBENCH_MS 300000

/* The statement with b.p1 for $1. */
static char *over_table(const char *statement)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (f == NULL)
		die("out of memory");
	for (const char *at = statement; *at; at++) {
		if (*at == '$')
			fputs("b.p", f);
		else
			fputc(*at, f);
	}
	fclose(f);
	return text;
}

static void write_script(const struct pgbench *b, const char *path)
{
	char *statement = over_table(b->statement);
	char *script = text_format("\\set n :n + 1\n%s"
				   "SELECT a.* FROM %s AS b CROSS JOIN LATERAL (\n%s\n) AS a"
				   " WHERE b.client = :client_id AND b.n = :n;\n%s",
	    b->explicit_transaction ? "BEGIN;\n" : "", b->table, statement,
	    b->explicit_transaction ? "COMMIT;\n" : "");

	file_write(path, script);
	free(statement);
	free(script);
}

static double read_rate(const char *out)
{
	char *text = file_read(out, NULL);
	const char *tps = text ? strstr(text, "\ntps = ") : NULL;
	double rate = tps ? strtod(tps + 7, NULL) : 0;

	if (rate <= 0)
		die("pgbench: %s", text ? text : "nothing");
	free(text);
	return rate;
}

double pgbench_run(struct ground *g, const struct pgbench *b)
{
	char *script = text_format("%s/pgbench.sql", world_dir(g->w));
	char *out = text_format("%s/pgbench.log", world_dir(g->w));
	char *clients = text_format("%d", b->clients);
	char *transactions = text_format("%lld", (long long)b->transactions);
	const char *const argv[] = {"pgbench", "-n", "-M", "prepared", "-D", "n=0", "-c", clients,
	    "-j", "2", "-t", transactions, "-f", script, world_admin_url(g->w), NULL};
	struct proc_spec spec = {.argv = argv, .log = out};
	double seconds;

	write_script(b, script);
	unlink(out);
	if (proc_run(&spec, PGBENCH_MS) != 0) {
		file_print_tail(out, 4000);
		die("pgbench failed");
	}
	seconds = (double)b->clients * (double)b->transactions / read_rate(out);
	free(script);
	free(out);
	free(clients);
	free(transactions);
	return seconds;
}
