#include "tests/producer/deliver.h"
#include "tests/producer/stage.h"
#include "tests/support/check.h"
#include "tests/support/files.h"
#include "tests/support/http.h"
#include "tests/support/pause.h"
#include "tests/support/signer.h"
#include "tests/support/text.h"
#include "tests/support/world.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct world *world;

static const char *const one_connection[] = {
    "--threads", "1", "--database-connections", "1", "--request-timeout", "5s", NULL};

/* While one batch waits for a lock the next one fills up; it contains what the database refuses. */
static void a_batch_is_split_until_the_culprit_is_alone(void)
{
	enum { NEIGHBOURS = 12 };
	struct proc *p = stage_producer(world, one_connection);
	static struct delivery first, rest[NEIGHBOURS + 1];
	PGconn *locker;

	CHECK_INT(deliver(proc_url(p), "evt_split", "sub_split", NULL), 200);
	world_sql(world, "ALTER TABLE intake.purchase ADD CONSTRAINT no_culprit"
			 " CHECK (store_purchase_id <> 'sub_culprit')");
	locker = stage_lock(world, "sub_split");
	delivery_start(&first, proc_url(p), "evt_split_first", "sub_split");
	CHECK(stage_await_lock_waits(world, 1));
	for (int i = 0; i <= NEIGHBOURS; i++) {
		char id[32];
		snprintf(id, sizeof(id), "evt_split_%d", i);
		delivery_start(&rest[i], proc_url(p), id, i == 5 ? "sub_culprit" : id);
	}
	CHECK(stage_await_queued(p, NEIGHBOURS + 1));
	stage_unlock(locker);
	delivery_join(&first);
	CHECK_INT(first.status, 200);
	for (int i = 0; i <= NEIGHBOURS; i++) {
		delivery_join(&rest[i]);
		CHECK_INT(rest[i].status, i == 5 ? 503 : 200);
	}
	CHECK_INT(stage_rows(world, "^evt_split_5$"), 0);
	CHECK_INT(stage_whole(world, "^evt_split_[0-9]+$"), NEIGHBOURS);
	world_sql(world, "ALTER TABLE intake.purchase DROP CONSTRAINT no_culprit");
	stage_end(p);
}

static void a_locked_purchase_fails_no_neighbour(void)
{
	enum { NEIGHBOURS = 5 };
	struct proc *p = stage_producer(world, one_connection);
	static struct delivery first, locked, rest[NEIGHBOURS];
	PGconn *locker, *other;

	CHECK_INT(deliver(proc_url(p), "evt_lock_a", "sub_lock_a", NULL), 200);
	CHECK_INT(deliver(proc_url(p), "evt_lock_b", "sub_lock_b", NULL), 200);
	locker = stage_lock(world, "sub_lock_a");
	other = stage_lock(world, "sub_lock_b");
	delivery_start(&first, proc_url(p), "evt_lock_a2", "sub_lock_a");
	CHECK(stage_await_lock_waits(world, 1));
	delivery_start(&locked, proc_url(p), "evt_lock_b2", "sub_lock_b");
	for (int i = 0; i < NEIGHBOURS; i++) {
		char id[32];
		snprintf(id, sizeof(id), "evt_lock_%d", i);
		delivery_start(&rest[i], proc_url(p), id, id);
	}
	CHECK(stage_await_queued(p, NEIGHBOURS + 1));
	stage_unlock(locker);
	delivery_join(&first);
	CHECK_INT(first.status, 200);
	for (int i = 0; i < NEIGHBOURS; i++) {
		delivery_join(&rest[i]);
		CHECK_INT(rest[i].status, 200);
	}
	delivery_join(&locked);
	CHECK_INT(locked.status, 503);
	stage_unlock(other);
	CHECK_INT(stage_rows(world, "^evt_lock_b2$"), 0);
	CHECK_INT(deliver(proc_url(p), "evt_lock_b2", "sub_lock_b", NULL), 200);
	stage_end(p);
}

static void a_full_queue_answers_at_once(void)
{
	static const char *const args[] = {"--threads", "1", "--database-connections", "1",
	    "--queue", "2", "--request-timeout", "10s", NULL};
	struct proc *p = stage_producer(world, args);
	static struct delivery waiting[3];
	struct http_answer answer;
	char *url, *after, *event, *signature, *header;
	PGconn *locker;

	CHECK_INT(deliver(proc_url(p), "evt_full", "sub_full", NULL), 200);
	locker = stage_lock(world, "sub_full");
	delivery_start(&waiting[0], proc_url(p), "evt_full_0", "sub_full");
	CHECK(stage_await_lock_waits(world, 1));
	delivery_start(&waiting[1], proc_url(p), "evt_full_1", "sub_full");
	delivery_start(&waiting[2], proc_url(p), "evt_full_2", "sub_full");
	CHECK(stage_await_queued(p, 2));

	int64_t before = now_ms();
	event = deliver_event("evt_full_3", "sub_full");
	signature = sign_stripe(SIGNER_STRIPE_SECRET, time(NULL), event, strlen(event));
	header = text_format("Stripe-Signature: %s", signature);
	url = text_format("%s/webhooks/stripe", proc_url(p));
	http_request(
	    "POST", url, (const char *const[]){header, NULL}, event, strlen(event), 5000, &answer);
	CHECK_INT(answer.status, 503);
	CHECK(now_ms() - before < 1000);
	after = http_header(&answer, "Retry-After");
	CHECK(after && strtol(after, NULL, 10) > 0);
	stage_unlock(locker);
	for (int i = 0; i < 3; i++) {
		delivery_join(&waiting[i]);
		CHECK_INT(waiting[i].status, 200);
	}
	CHECK_INT(stage_rows(world, "^evt_full_3$"), 0);
	free(after);
	http_answer_done(&answer);
	free(url);
	free(header);
	free(signature);
	free(event);
	stage_end(p);
}

/* Duplicates that wait together: the second learns its answer from the key, not from the first. */
static void a_queued_duplicate_waits_for_its_twin(void)
{
	struct proc *p = stage_producer(world, one_connection);
	static struct delivery first, twins[4];
	PGconn *locker;

	CHECK_INT(deliver(proc_url(p), "evt_twin", "sub_twin", NULL), 200);
	locker = stage_lock(world, "sub_twin");
	delivery_start(&first, proc_url(p), "evt_twin_first", "sub_twin");
	CHECK(stage_await_lock_waits(world, 1));
	for (int i = 0; i < 4; i++)
		delivery_start(&twins[i], proc_url(p), "evt_twin_x", "sub_twin_x");
	CHECK(stage_await_queued(p, 4));
	stage_unlock(locker);
	delivery_join(&first);
	for (int i = 0; i < 4; i++) {
		delivery_join(&twins[i]);
		CHECK_INT(twins[i].status, 200);
	}
	CHECK_INT(stage_rows(world, "^evt_twin_x$"), 3);
	stage_end(p);
}

static void outage_503_at_once_and_back_alone(void)
{
	struct proc *p = stage_producer(world, NULL);
	char *ready = text_format("%s/readyz", proc_admin_url(p)), *log;
	struct http_answer answer;
	int64_t before;

	CHECK_INT(deliver(proc_url(p), "evt_out", "sub_out", NULL), 200);
	world_pg_stop(world, "immediate");
	CHECK(proc_await_log(p, "the database is away", 10000));
	for (int i = 0; i < 10; i++) {
		before = now_ms();
		CHECK_INT(deliver(proc_url(p), "evt_out_1", "sub_out", NULL), 503);
		CHECK(now_ms() - before < 1000);
	}
	http_request("GET", ready, NULL, NULL, 0, 5000, &answer);
	CHECK_INT(answer.status, 503);
	http_answer_done(&answer);
	world_pg_start(world);
	CHECK(proc_await_ready(p, 20000));
	CHECK_INT(deliver(proc_url(p), "evt_out_1", "sub_out", NULL), 200);
	CHECK_INT(stage_rows(world, "^evt_out_1$"), 3);
	log = file_read(proc_log(p), NULL);
	const char *first = strstr(log, "the database is away");
	CHECK(first && !strstr(first + 1, "the database is away"));
	CHECK(strstr(first, "the database is back") != NULL);
	free(log);
	free(ready);
	stage_end(p);
}

static void outage_empties_the_queue(void)
{
	struct proc *p = stage_producer(world, one_connection);
	static struct delivery d[4];
	PGconn *locker;

	CHECK_INT(deliver(proc_url(p), "evt_cut", "sub_cut", NULL), 200);
	locker = stage_lock(world, "sub_cut");
	for (int i = 0; i < 4; i++) {
		char id[32];
		snprintf(id, sizeof(id), "evt_cut_%d", i);
		delivery_start(&d[i], proc_url(p), id, "sub_cut");
	}
	CHECK(stage_await_lock_waits(world, 1));
	CHECK(stage_await_queued(p, 3));
	world_pg_stop(world, "immediate");
	PQfinish(locker);
	for (int i = 0; i < 4; i++) {
		delivery_join(&d[i]);
		CHECK_INT(d[i].status, 503);
		CHECK(d[i].ms < 4000);
	}
	world_pg_start(world);
	CHECK(proc_await_ready(p, 20000));
	for (int i = 0; i < 4; i++)
		CHECK_INT(deliver(proc_url(p), d[i].id, "sub_cut", NULL), 200);
	CHECK_INT(stage_whole(world, "^evt_cut_"), 4);
	stage_end(p);
}

/* The backend stands still: the outcome is unknown when the time is over, and nothing is cancelled.
 */
static void a_backend_that_hangs_is_left(void)
{
	static const char *const args[] = {
	    "--threads", "1", "--database-connections", "1", "--request-timeout", "2s", NULL};
	struct proc *p = stage_producer(world, args);
	static struct delivery d;
	PGconn *locker;
	pid_t backend;
	char *body;

	CHECK_INT(deliver(proc_url(p), "evt_hang", "sub_hang", NULL), 200);
	locker = stage_lock(world, "sub_hang");
	delivery_start(&d, proc_url(p), "evt_hang_1", "sub_hang");
	CHECK(stage_await_lock_waits(world, 1));
	backend = (pid_t)world_int(world,
	    "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
	    " AND application_name LIKE 'umavez-producer/%%'");
	kill(backend, SIGSTOP);
	stage_unlock(locker);
	delivery_join(&d);
	CHECK_INT(d.status, 503);
	CHECK(d.ms >= 1900 && d.ms < 5000);
	/* Another connection serves; the one left behind still holds the notification's key. */
	CHECK(proc_await_ready(p, 10000));
	CHECK_INT(deliver(proc_url(p), "evt_hang_2", "sub_hang_2", NULL), 200);
	kill(backend, SIGCONT);
	/* It finishes what it was asked to, whether anybody listens or not. */
	CHECK(world_await_int(
	    world, 0, 10000, "SELECT count(*) FROM pg_stat_activity WHERE pid = %d", (int)backend));
	CHECK_INT(deliver(proc_url(p), "evt_hang_1", "sub_hang", &body), 200);
	CHECK_INT(stage_whole(world, "^evt_hang_1$"), 1);
	free(body);
	stage_end(p);
}

struct crowd {
	const char *url;
	int first, step, n, failures;
	pthread_t thread;
};

enum { CROWD_IDS = 1000, CROWD_PURCHASES = 25 };

static void *post_crowd(void *arg)
{
	struct crowd *c = arg;
	int at = c->first;

	for (int i = 0; i < c->n; i++, at = (at + c->step + CROWD_IDS) % CROWD_IDS) {
		char id[32], subscription[32];
		int status = 0;

		snprintf(id, sizeof(id), "evt_crowd_%d", at);
		snprintf(subscription, sizeof(subscription), "sub_crowd_%d", at % CROWD_PURCHASES);
		for (int attempt = 0; attempt < 5 && status != 200; attempt++)
			status = deliver(c->url, id, subscription, NULL);
		c->failures += status != 200;
	}
	return NULL;
}

/* Two producers get the same notifications in opposite orders, many at a time. */
static void b42_two_producers_do_not_deadlock(void)
{
	enum { CLIENTS = 12 };
	struct proc *p[2] = {stage_producer(world, NULL), stage_producer(world, NULL)};
	static struct crowd crowd[CLIENTS];
	int64_t deadlocks = world_int(world, "SELECT sum(deadlocks)::bigint FROM pg_stat_database");

	for (int i = 0; i < CLIENTS; i++) {
		int part = CROWD_IDS * (i / 2) / (CLIENTS / 2);
		crowd[i] = (struct crowd){.url = proc_url(p[i % 2]),
		    .first = i % 2 ? CROWD_IDS - 1 - part : part,
		    .step = i % 2 ? -1 : 1,
		    .n = CROWD_IDS / (CLIENTS / 2) + 1};
		CHECK(pthread_create(&crowd[i].thread, NULL, post_crowd, &crowd[i]) == 0);
	}
	for (int i = 0; i < CLIENTS; i++) {
		pthread_join(crowd[i].thread, NULL);
		CHECK_INT(crowd[i].failures, 0);
	}
	CHECK_INT(stage_whole(world, "^evt_crowd_"), CROWD_IDS);
	CHECK_INT(world_int(world, "SELECT sum(version)::bigint FROM intake.purchase"
				   " WHERE store_purchase_id ~ '^sub_crowd_'") >= CROWD_PURCHASES,
	    1);
	CHECK_INT(
	    world_int(world, "SELECT sum(deadlocks)::bigint FROM pg_stat_database"), deadlocks);
	stage_end(p[0]);
	stage_end(p[1]);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"a batch is split until the culprit is alone",
		a_batch_is_split_until_the_culprit_is_alone},
	    {"a locked purchase fails no neighbour", a_locked_purchase_fails_no_neighbour},
	    {"a full queue answers at once", a_full_queue_answers_at_once},
	    {"a queued duplicate waits for its twin", a_queued_duplicate_waits_for_its_twin},
	    {"outage: 503 at once, and back alone", outage_503_at_once_and_back_alone},
	    {"outage empties the queue", outage_empties_the_queue},
	    {"a backend that hangs is left", a_backend_that_hangs_is_left},
	    {"B42 two producers do not deadlock", b42_two_producers_do_not_deadlock},
	    {NULL, NULL},
	};
	int status;

	world = world_open(2);
	status = check_main("producer intake faults", checks, argc, argv);
	world_close(world);
	return status;
}
