/*
 * What ./demo shows: the whole stack on private servers, under load, while its services are killed.
 */
#include "tests/support/check.h"
#include "tests/support/files.h"
#include "tests/support/invariants.h"

#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DRAIN_MS 60000

static const char usage[] =
    "usage: demo [--notifications N] [--seed N] [--keep]\n"
    "  --notifications N  how many different ones are sent (600)\n"
    "  --seed N           the same notifications, order and duplicates again\n"
    "  --keep             leave servers' data and logs in place\n";

struct demo {
	int64_t started_ms;
	bool colour;
	int notifications;
	struct world *world;
	struct load *load;
	struct proc *producer, *relay, *consumer;
};

static const char *paint(const struct demo *d, const char *code)
{
	return d->colour ? code : "";
}

#define BOLD "\033[1m"
#define DIM "\033[2m"
#define RED "\033[31m"
#define GREEN "\033[32m"
#define PLAIN "\033[0m"

static void say(const struct demo *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(const struct demo *d, const char *fmt, ...)
{
	int64_t ms = now_ms() - d->started_ms;
	va_list args;

	printf("%s%3" PRId64 ".%" PRId64 " s%s  ", paint(d, DIM), ms / 1000, ms % 1000 / 100,
	    paint(d, PLAIN));
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

static void heading(const struct demo *d, const char *text)
{
	printf("\n%s%s%s\n", paint(d, BOLD), text, paint(d, PLAIN));
}

static void start_stack(struct demo *d)
{
	const char *const handler[] = {"--handler", WITNESS_HANDLER, NULL};

	heading(d, "A stack of its own");
	d->world = world_open(0);
	say(d, "PostgreSQL and Redis answer, in %s", world_dir(d->world));
	world_migrate(d->world, 4);
	say(d, "umavez migrate --shards 4 --roles: every service has a role of its own");
	witness_install(d->world);
	d->producer = world_producer(d->world, NULL, NULL);
	d->relay = world_relay(d->world, NULL, NULL);
	d->consumer = world_consumer(d->world, handler, NULL);
	say(d, "producer at %s, relay and consumer are up", proc_url(d->producer));
}

struct mark {
	const struct load *load;
	int deliveries;
};

static bool is_reached(void *ctx)
{
	const struct mark *mark = ctx;

	return load_done(mark->load) >= mark->deliveries;
}

static void kill_and_restart(struct demo *d, struct proc *p, const char *name, int percent)
{
	struct mark mark = {d->load, load_deliveries(d->load) * percent / 100};

	await(is_reached, &mark, DRAIN_MS);
	say(d, "%3d of %d  %skill -9 %s%s", load_done(d->load), load_deliveries(d->load),
	    paint(d, RED), name, paint(d, PLAIN));
	proc_kill(p, SIGKILL);
	proc_wait(p, DRAIN_MS);
	/* While the producer is away nothing can be answered. */
	mark.deliveries = load_deliveries(d->load) * (percent + 8) / 100;
	if (p != d->producer)
		await(is_reached, &mark, DRAIN_MS);
	proc_restart(p);
	say(d, "%3d of %d  %s is back%s", load_done(d->load), load_deliveries(d->load), name,
	    p == d->producer ? "" : ", and takes over when the dead one's lease (5 s) ends");
}

static bool send_all(struct demo *d)
{
	const char *const urls[] = {proc_url(d->producer), NULL};
	struct load_options options = {.seed = check_seed(),
	    .notifications = d->notifications,
	    .duplicates = 0.3,
	    .reorder = 0.3,
	    .threads = 8};

	options.per_second = d->notifications / 4 + 1;
	d->load = load_new(&options, world_signer(d->world));
	heading(d, "Signed notifications of three stores, a third of them twice, out of order");
	load_start(d->load, urls);
	kill_and_restart(d, d->relay, "relay", 20);
	kill_and_restart(d, d->consumer, "consumer", 40);
	kill_and_restart(d, d->producer, "producer", 60);
	kill_and_restart(d, d->relay, "relay", 75);
	if (!load_wait(d->load, DRAIN_MS))
		return false;
	say(d, "all %d deliveries were answered with 200", load_deliveries(d->load));
	witness_answers(d->world, d->load);
	if (!invariants_await(d->world, DRAIN_MS))
		return false;
	say(d, "everything is applied");
	return true;
}

static void print_indented(const char *text)
{
	for (const char *line = text; *line != '\0';
	     line += strcspn(line, "\n"), line += *line == '\n')
		printf("  %.*s\n", (int)strcspn(line, "\n"), line);
}

static bool show_trace(struct demo *d)
{
	char *id = world_text(d->world,
	    "SELECT n.notification_id FROM intake.notification AS n "
	    "JOIN effects.inbox AS i ON i.source = n.store AND i.message_id = n.notification_id "
	    "WHERE n.store_purchase_id IS NOT NULL ORDER BY i.processed_at - n.received_at DESC");
	const char *const args[] = {"trace", id, NULL};
	char *out;
	int status;

	heading(d, "The notification that waited longest, for a lease to end");
	printf("  $ umavez trace %s\n", id);
	fflush(stdout);
	status = world_run(d->world, &out, "umavez", args);
	print_indented(out);
	free(out);
	free(id);
	return status == 0;
}

static bool show_ledger(struct demo *d)
{
	struct ledger ledger;
	int broken;

	heading(d, "Ledger");
	ledger_read(d->world, d->load, &ledger);
	ledger_print(stdout, &ledger);
	if (ledger.load.accepted < ledger.load.notifications)
		printf("  (%" PRId64 " were kept by a producer that was killed before it could say "
		       "so: the store sent them again, and they were duplicates)\n",
		    ledger.load.notifications - ledger.load.accepted);
	fflush(stdout);
	broken = invariants_broken(d->world, INVARIANTS_ALL | INVARIANTS_TRIMMED);
	return broken == 0 && ledger.lost == 0 && ledger.doubled == 0 && ledger.load.refused == 0;
}

static int number(const char *text)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (*text == '\0' || *end != '\0' || n < 1 || n > 1000000) {
		fprintf(stderr, "not a number from 1 to 1000000: %s\n", text);
		exit(2);
	}
	return (int)n;
}

static void read_options(struct demo *d, int argc, char **argv)
{
	static const struct option options[] = {{"notifications", required_argument, NULL, 'n'},
	    {"seed", required_argument, NULL, 's'}, {"keep", no_argument, NULL, 'k'},
	    {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'n':
			d->notifications = number(optarg);
			break;
		case 's':
			setenv("SEED", optarg, 1);
			break;
		case 'k':
			setenv("KEEP", "1", 1);
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		default:
			fputs(usage, stderr);
			exit(2);
		}
	}
}

int main(int argc, char **argv)
{
	struct demo d = {.notifications = 600};
	bool good;

	read_options(&d, argc, argv);
	d.started_ms = now_ms();
	d.colour = isatty(STDOUT_FILENO) && getenv("NO_COLOR") == NULL;
	start_stack(&d);
	good = send_all(&d) && show_trace(&d) && show_ledger(&d);
	load_free(d.load);
	world_close(d.world);
	if (good)
		printf("\n%sNothing lost, nothing doubled.%s (--seed %" PRIu64 ")\n",
		    paint(&d, GREEN), paint(&d, PLAIN), check_seed());
	else
		printf("\n%sThe demo failed.%s (--seed %" PRIu64 ")\n", paint(&d, RED),
		    paint(&d, PLAIN), check_seed());
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
