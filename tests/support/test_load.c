#include "tests/support/check.h"
#include "tests/support/load.h"
#include "tests/support/pause.h"
#include "tests/support/stub_server.h"

#include <string.h>

#define ACCEPTED "{\"outcome\":\"accepted\"}"
#define DUPLICATE "{\"outcome\":\"duplicate\"}"

static const struct load_options few = {.seed = 7, .notifications = 20};

static void say(struct stub_server *s, int status, const char *body)
{
	stub_answer(s, status, "Content-Type: application/json\r\n", body, strlen(body));
}

static void begin(struct load *l, struct stub_server *s)
{
	const char *const urls[] = {stub_url(s), NULL};

	load_start(l, urls);
}

static void a_seed_gives_the_same_plan(void)
{
	struct load_options other = few;
	struct signer *s = signer_new();
	struct load *a = load_new(&few, s), *b = load_new(&few, s), *c;

	other.seed = 8;
	c = load_new(&other, s);
	CHECK_INT(load_count(a), 20);
	for (int i = 0; i < load_count(a); i++) {
		CHECK_STR(load_at(a, i)->notification_id, load_at(b, i)->notification_id);
		CHECK(load_at(a, i)->store == load_at(b, i)->store);
		CHECK(strcmp(load_at(a, i)->notification_id, load_at(c, i)->notification_id) != 0);
	}
	load_free(a);
	load_free(b);
	load_free(c);
	signer_free(s);
}

static void all_stores_take_part_unless_one_is_asked_for(void)
{
	struct load_options many = {.seed = check_seed(), .notifications = 300};
	struct signer *s = signer_new();
	struct load *l = load_new(&many, s);
	int count[LOAD_STORES] = {0};

	for (int i = 0; i < load_count(l); i++)
		count[load_at(l, i)->store]++;
	CHECK(count[LOAD_APP_STORE] > 0 && count[LOAD_GOOGLE_PLAY] > 0 && count[LOAD_STRIPE] > 0);
	load_free(l);
	many.stores = 1U << LOAD_GOOGLE_PLAY;
	l = load_new(&many, s);
	for (int i = 0; i < load_count(l); i++)
		CHECK(load_at(l, i)->store == LOAD_GOOGLE_PLAY);
	load_free(l);
	signer_free(s);
}

static void duplicates_are_deliveries_more(void)
{
	struct load_options many = {
	    .seed = check_seed(), .notifications = 300, .duplicates = 0.5, .reorder = 0.5};
	struct stub_server *stub = stub_open();
	struct signer *s = signer_new();
	struct load *l = load_new(&many, s);
	struct load_totals totals;

	CHECK(load_deliveries(l) > 400 && load_deliveries(l) < 500);
	say(stub, 200, ACCEPTED);
	begin(l, stub);
	CHECK(load_wait(l, 60000));
	load_totals(l, &totals);
	CHECK_INT(totals.sends, load_deliveries(l));
	for (int i = 0; i < load_count(l); i++)
		CHECK(load_at(l, i)->sends > 0);
	load_free(l);
	signer_free(s);
	stub_close(stub);
}

static bool has_unanswered(void *ctx)
{
	struct load_totals totals;

	load_totals(ctx, &totals);
	return totals.unanswered > 10;
}

static void what_was_not_answered_is_sent_again(void)
{
	struct stub_server *stub = stub_open();
	struct signer *s = signer_new();
	struct load *l = load_new(&few, s);
	struct load_totals totals;

	say(stub, 503, "{}");
	begin(l, stub);
	CHECK(await(has_unanswered, l, 10000));
	say(stub, -1, "");
	CHECK_INT(load_done(l), 0);
	say(stub, 200, DUPLICATE);
	CHECK(load_wait(l, 10000));
	load_totals(l, &totals);
	CHECK_INT(totals.duplicates, 20);
	CHECK_INT(totals.accepted, 0);
	CHECK_INT(totals.sends, 20 + totals.unanswered);
	load_free(l);
	signer_free(s);
	stub_close(stub);
}

static void a_refusal_is_counted_and_not_repeated(void)
{
	struct stub_server *stub = stub_open();
	struct signer *s = signer_new();
	struct load *l = load_new(&few, s);
	struct load_totals totals;

	say(stub, 400, ACCEPTED);
	begin(l, stub);
	CHECK(load_wait(l, 10000));
	load_totals(l, &totals);
	CHECK_INT(totals.refused, 20);
	CHECK_INT(totals.accepted, 0);
	CHECK_INT(stub_hits(stub), 20);
	load_free(l);
	signer_free(s);
	stub_close(stub);
}

static void a_deadline_ends_it(void)
{
	struct stub_server *stub = stub_open();
	struct signer *s = signer_new();
	struct load *l = load_new(&few, s);

	say(stub, 503, "{}");
	begin(l, stub);
	CHECK(!load_wait(l, 100));
	CHECK(load_done(l) < load_deliveries(l));
	load_free(l);
	signer_free(s);
	stub_close(stub);
}

static void a_rate_is_kept(void)
{
	struct load_options slow = few;
	struct stub_server *stub = stub_open();
	struct signer *s = signer_new();
	int64_t before = now_ms();
	struct load *l;

	slow.per_second = 100;
	l = load_new(&slow, s);
	say(stub, 200, ACCEPTED);
	begin(l, stub);
	CHECK(load_wait(l, 10000));
	CHECK(now_ms() - before >= 190);
	load_free(l);
	signer_free(s);
	stub_close(stub);
}

static const struct check checks[] = {
    {"a seed gives the same plan", a_seed_gives_the_same_plan},
    {"all stores take part unless one is asked for", all_stores_take_part_unless_one_is_asked_for},
    {"duplicates are deliveries more", duplicates_are_deliveries_more},
    {"what was not answered is sent again", what_was_not_answered_is_sent_again},
    {"a refusal is counted and not repeated", a_refusal_is_counted_and_not_repeated},
    {"a deadline ends it", a_deadline_ends_it},
    {"a rate is kept", a_rate_is_kept},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("load", checks, argc, argv);
}
