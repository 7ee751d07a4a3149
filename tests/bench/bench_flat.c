/*
 * bench_flat - whether memory and descriptors of the services stay flat; see tests/bench/flat.
 */
#include "common/clock.h"
#include "common/option.h"
#include "tests/bench/account.h"
#include "tests/bench/ground.h"
#include "tests/bench/resources.h"
#include "tests/bench/trend.h"
#include "tests/support/die.h"
#include "tests/support/http.h"
#include "tests/support/load.h"
#include "tests/support/pause.h"
#include "tests/support/witness.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SAMPLE_MS 1000
#define PIECE_S 30 /* of the load: a plan of all of it would take more memory than the services */
#define PIECE_MS 600000
#define READY_MS 60000
#define THREADS 16 /* of the load; each request has a connection of its own */
#define DUPLICATES 0.2
#define REORDER 0.1
#define WARM_UP 5   /* a fifth of the time */
#define VISITORS 48 /* connections that say little, and are replaced by others at each sample */

/* What a process may have more at the end than at first: pieces of freed memory lie where they are
 * used again only later, and connections come and go between two looks. */
#define SLACK_MIB 1.0
#define SLACK_SHARE 0.03
#define SLACK_DESCRIPTORS 5.0

struct flat_options {
	int64_t minutes, per_second;
};

#define AT(member) offsetof(struct flat_options, member)
static const struct option options_table[] = {
    {"minutes", OPT_INT, AT(minutes), "30", "How long; the first fifth is warm-up", 0, 1, 100000,
	NULL, NULL},
    {"per-second", OPT_INT, AT(per_second), "200", "Requests", 0, 1, 100000, NULL, NULL},
    {NULL, OPT_STRING, 0, NULL, NULL, 0, 0, 0, NULL, NULL},
};

enum service { SERVICE_PRODUCER, SERVICE_RELAY, SERVICE_CONSUMER, SERVICES };
static const char *const names[SERVICES] = {"producer", "relay", "consumer"};

struct flat {
	const struct flat_options *options;
	struct ground *g;
	struct proc *procs[SERVICES];
	struct trend rss[SERVICES], descriptors[SERVICES];
	struct account account;
	int visitors[VISITORS]; /* -1: nobody */
	int64_t began_us;
};

static double elapsed_s(const struct flat *f)
{
	return (double)(clock_mono_us() - f->began_us) / 1e6;
}

static void start(struct flat *f)
{
	static const char *const handler[] = {"--handler", WITNESS_HANDLER, NULL};
	struct world *w = f->g->w;

	ground_reset(f->g);
	f->procs[SERVICE_PRODUCER] = world_producer(w, NULL, NULL);
	f->procs[SERVICE_RELAY] = world_relay(w, NULL, NULL);
	f->procs[SERVICE_CONSUMER] = world_consumer(w, handler, NULL);
	for (int i = 0; i < SERVICES; i++)
		if (!proc_await_ready(f->procs[i], READY_MS))
			die("%s is not ready", names[i]);
	for (int i = 0; i < VISITORS; i++)
		f->visitors[i] = -1;
	f->began_us = clock_mono_us();
}

static void part_visitor(struct flat *f, int i)
{
	if (f->visitors[i] >= 0)
		close(f->visitors[i]);
	f->visitors[i] = -1;
}

/* Of three connections one says nothing, one begins a request, and one leaves in its body. */
static void replace_visitors(struct flat *f)
{
	static const char *const words[] = {"", "POST /webhooks/stripe HTTP/1.1\r\nHost: loc",
	    "POST /webhooks/stripe HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"};

	for (int i = 0; i < VISITORS; i++) {
		const char *text = words[i % 3];

		part_visitor(f, i);
		f->visitors[i] = http_connect(proc_url(f->procs[SERVICE_PRODUCER]));
		/* That the producer may have had enough of it is its right. */
		if (f->visitors[i] >= 0 &&
		    send(f->visitors[i], text, strlen(text), MSG_NOSIGNAL) < 0)
			part_visitor(f, i);
	}
}

static void sample(struct flat *f)
{
	for (int i = 0; i < SERVICES; i++) {
		pid_t pid = proc_pid(f->procs[i]);

		if (!proc_alive(f->procs[i]))
			die("%s: it ended", proc_log(f->procs[i]));
		trend_add(&f->rss[i], elapsed_s(f), resources_rss(pid));
		trend_add(&f->descriptors[i], elapsed_s(f), resources_descriptors(pid));
	}
}

static void run_piece(struct flat *f, int number)
{
	const struct load_options options = {.seed = (uint64_t)number + 1,
	    .notifications = (int)((double)(f->options->per_second * PIECE_S) / (1 + DUPLICATES)),
	    .duplicates = DUPLICATES,
	    .reorder = REORDER,
	    .threads = THREADS,
	    .per_second = (int)f->options->per_second};
	const char *const urls[] = {proc_url(f->procs[SERVICE_PRODUCER]), NULL};
	struct load *l = load_new(&options, world_signer(f->g->w));
	int64_t deadline_ms = now_ms() + PIECE_MS;

	load_start(l, urls);
	while (load_done(l) < load_deliveries(l) && now_ms() < deadline_ms) {
		/* Whoever left a second ago is gone by now. */
		sample(f);
		replace_visitors(f);
		sleep_ms(SAMPLE_MS);
	}
	if (!load_wait(l, 1))
		die("the load is not answered");
	account_add(&f->account, f->g->w, l);
	load_free(l);
}

static void tell(const struct flat *f)
{
	fprintf(stderr, "  %5.0f s", elapsed_s(f));
	for (int i = 0; i < SERVICES; i++)
		fprintf(stderr, "  %s %.1f MiB %.0f fd", names[i],
		    f->rss[i].samples[f->rss[i].n - 1].value,
		    f->descriptors[i].samples[f->descriptors[i].n - 1].value);
	fprintf(stderr, "\n");
}

/* One line of the table; whether it is flat. */
static bool judge(
    const char *name, const char *what, const struct trend *t, double from, double slack)
{
	struct trend_summary s;
	bool flat;

	if (!trend_summarize(t, from, &s))
		die("%s, %s: there is nothing behind the warm-up", name, what);
	flat = trend_is_flat(&s, slack, SLACK_SHARE);
	printf("%-10s%-14s%10.1f%10.1f%10.1f%+10.2f  %s\n", name, what, s.first, s.last, s.max,
	    s.rise, flat ? "flat" : "RISES");
	return flat;
}

static int judge_all(const struct flat *f, double from)
{
	int rising = 0;

	printf("\n%-10s%-14s%10s%10s%10s%10s\n", "", "", "first", "last", "max", "rise");
	for (int i = 0; i < SERVICES; i++) {
		rising += !judge(names[i], "resident MiB", &f->rss[i], from, SLACK_MIB);
		rising +=
		    !judge(names[i], "descriptors", &f->descriptors[i], from, SLACK_DESCRIPTORS);
	}
	printf("The line through all samples behind the first %.0f s rises by so much; at most %g "
	       "MiB and\n%g descriptors, or %g %%, are flat.\n\n",
	    from, SLACK_MIB, SLACK_DESCRIPTORS, SLACK_SHARE * 100);
	return rising;
}

static int run(const struct flat_options *options)
{
	const struct bench_options bench = {.scale = 1};
	struct flat f = {.options = options, .g = ground_open(&bench)};
	double end_s = (double)options->minutes * 60;
	int wrong;

	start(&f);
	for (int piece = 0; elapsed_s(&f) < end_s; piece++) {
		run_piece(&f, piece);
		tell(&f);
	}
	wrong = judge_all(&f, end_s / WARM_UP);
	wrong += account_judge(&f.account, f.g->w);
	for (int i = 0; i < VISITORS; i++)
		part_visitor(&f, i);
	for (int i = 0; i < SERVICES; i++) {
		trend_done(&f.rss[i]);
		trend_done(&f.descriptors[i]);
	}
	ground_close(f.g);
	printf("%s\n", wrong > 0 ? "FAILED" : "Flat, and the ledger holds.");
	return wrong > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct flat_options options = {.minutes = 0};
	enum option_action action;
	struct err err = ERR_INIT;
	int status = EXIT_SUCCESS;

	signal(SIGPIPE, SIG_IGN);
	if (option_parse(options_table, &options, argc, argv, NULL, &action, &err) < 0) {
		fprintf(stderr, "bench_flat: %s\n", err.message);
		return err_exit_status(&err);
	}
	if (action == OPTION_HELP)
		option_help("tests/bench/flat",
		    "[OPTION]...\n\nSee the comment in tests/bench/flat.\n", options_table);
	else
		status = run(&options);
	option_done(options_table, &options);
	return status;
}
