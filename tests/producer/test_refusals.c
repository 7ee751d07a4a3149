#include "producer/intake.h"
#include "tests/producer/deliver.h"
#include "tests/producer/stage.h"
#include "tests/support/check.h"
#include "tests/support/files.h"
#include "tests/support/http.h"
#include "tests/support/text.h"
#include "tests/support/world.h"

#include <stdlib.h>
#include <string.h>

static struct world *world;

static const char *const one_connection[] = {
    "--threads", "1", "--database-connections", "1", "--request-timeout", "5s", NULL};
static const char *const two_connections[] = {
    "--threads", "1", "--database-connections", "2", "--request-timeout", "5s", NULL};

static void refuse_no_more(void)
{
	world_sql(world, "DROP FUNCTION IF EXISTS refuse CASCADE");
}

/* From now on the database refuses rows of this table for which the condition holds. */
static void refuse(const char *table, const char *condition, const char *sqlstate)
{
	refuse_no_more(); /* a check that failed may have left it */
	world_sql(world,
	    "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
	    " $$BEGIN RAISE EXCEPTION 'not this one' USING ERRCODE = '%s'; END$$",
	    sqlstate);
	world_sql(world,
	    "CREATE TRIGGER refuse BEFORE INSERT ON intake.%s FOR EACH ROW"
	    " WHEN (%s) EXECUTE FUNCTION refuse()",
	    table, condition);
}

struct readiness {
	char *url;
	const char *part; /* of the answer */
};

static bool says(void *ctx)
{
	const struct readiness *r = ctx;
	struct http_answer answer;

	http_request("GET", r->url, NULL, NULL, 0, 5000, &answer);
	bool found = answer.body && strstr(answer.body, r->part);
	http_answer_done(&answer);
	return found;
}

static bool await_readiness(struct proc *p, const char *part)
{
	struct readiness r = {text_format("%s/readyz", proc_admin_url(p)), part};
	bool found = await(says, &r, 10000);

	free(r.url);
	return found;
}

static void a_full_disk_is_told_and_not_ready(void)
{
	struct proc *p = stage_producer(world, one_connection);

	refuse("notification", "true", "53100");
	CHECK_INT(deliver(proc_url(p), "evt_disk", "sub_disk", NULL), 503);
	CHECK(proc_await_log(p, "level=warn service=producer msg=\"batch not committed\"", 5000));
	CHECK_INT(file_count(proc_log(p), "sqlstate=53100 error=\"not this one\""), 1);
	CHECK(await_readiness(p, "the database commits nothing"));
	CHECK_INT(deliver(proc_url(p), "evt_disk", "sub_disk", NULL), 503);
	CHECK(await_readiness(p, "the database commits nothing"));
	CHECK_INT(file_count(proc_log(p), "batch not committed"), 1);
	refuse_no_more();
	CHECK_INT(deliver(proc_url(p), "evt_disk", "sub_disk", NULL), 200);
	CHECK(proc_await_ready(p, 1000));
	stage_end(p);
}

static void another_cluster_is_an_error(void)
{
	struct proc *p = stage_producer(world, one_connection);

	refuse("notification", "true", "UMV03");
	CHECK_INT(deliver(proc_url(p), "evt_cluster", "sub_cluster", NULL), 503);
	CHECK(proc_await_log(p, "level=error service=producer msg=\"batch not committed\"", 5000));
	refuse_no_more();
	stage_end(p);
}

static void readiness_comes_back_for_the_next_one(void)
{
	struct intake_shared shared = {.lanes = 2};
	int64_t now_us = INT64_C(1) << 40;

	CHECK(intake_commits(&shared, now_us));
	atomic_store(&shared.failed_us, now_us);
	atomic_store(&shared.failures, 1);
	CHECK(intake_commits(&shared, now_us));
	atomic_store(&shared.failures, 2);
	CHECK(!intake_commits(&shared, now_us));
	CHECK(!intake_commits(&shared, now_us + INT64_C(29999999)));
	CHECK(intake_commits(&shared, now_us + INT64_C(30000000)));
}

/* What waits for a purchase that another batch had goes on when that batch is lost. */
static void a_lost_batch_lets_go_of_its_purchases(void)
{
	struct proc *p = stage_producer(world, two_connections);
	static struct delivery lost, waiting;
	PGconn *locker;

	CHECK_INT(deliver(proc_url(p), "evt_claim", "sub_claim", NULL), 200);
	locker = stage_lock(world, "sub_claim");
	delivery_start(&lost, proc_url(p), "evt_claim_1", "sub_claim");
	CHECK(stage_await_lock_waits(world, 1));
	delivery_start(&waiting, proc_url(p), "evt_claim_2", "sub_claim");
	CHECK(stage_await_queued(p, 1));
	/* The one that is left has to take it. */
	world_sql(world, "ALTER ROLE w_producer CONNECTION LIMIT 0");
	free(world_text(world,
	    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
	    " WHERE wait_event_type = 'Lock' AND application_name LIKE 'umavez-producer/%%'"));
	delivery_join(&lost);
	CHECK_INT(lost.status, 503);
	stage_unlock(locker);
	delivery_join(&waiting);
	CHECK_INT(waiting.status, 200);
	world_sql(world, "ALTER ROLE w_producer CONNECTION LIMIT -1");
	stage_end(p);
}

static void p12_data_that_no_row_takes_is_quarantined(void)
{
	struct proc *p = stage_producer(world, NULL);
	char *body;

	refuse("purchase", "NEW.store_purchase_id = 'sub_p12'", "22003");
	CHECK_INT(deliver(proc_url(p), "evt_p12", "sub_p12", &body), 200);
	CHECK_STR(body, "{\"outcome\":\"accepted\"}");
	free(body);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.notification"
				   " WHERE notification_id = 'evt_p12' AND kind = 'unrecognized'"
				   " AND store_purchase_id IS NULL AND length(body) > 0"
				   " AND remark = 'the database cannot hold what it says'"),
	    1);
	CHECK_INT(deliver(proc_url(p), "evt_p12", "sub_p12", &body), 200);
	CHECK_STR(body, "{\"outcome\":\"duplicate\"}");
	free(body);
	refuse_no_more();
	stage_end(p);
}

static void p12_what_even_quarantine_does_not_take(void)
{
	struct proc *p = stage_producer(world, NULL);

	refuse("notification", "NEW.notification_id = 'evt_p12_all'", "54000");
	CHECK_INT(deliver(proc_url(p), "evt_p12_all", "sub_p12_all", NULL), 503);
	CHECK_INT(stage_rows(world, "^evt_p12_all$"), 0);
	refuse_no_more();
	CHECK_INT(deliver(proc_url(p), "evt_p12_all", "sub_p12_all", NULL), 200);
	CHECK_INT(stage_rows(world, "^evt_p12_all$"), 3);
	stage_end(p);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"a full disk is told, and not ready", a_full_disk_is_told_and_not_ready},
	    {"another cluster is an error", another_cluster_is_an_error},
	    {"readiness comes back for the next one", readiness_comes_back_for_the_next_one},
	    {"a lost batch lets go of its purchases", a_lost_batch_lets_go_of_its_purchases},
	    {"P12 data that no row takes is quarantined",
		p12_data_that_no_row_takes_is_quarantined},
	    {"P12 what even quarantine does not take", p12_what_even_quarantine_does_not_take},
	    {NULL, NULL},
	};
	int status;

	world = world_open(2);
	status = check_main("producer refusals", checks, argc, argv);
	world_close(world);
	return status;
}
