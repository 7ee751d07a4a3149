/*
 * dead_letter.c - umavez dead-letter: messages that could not be applied, and what is to become of
 * them.
 */
#include "cli/dead_letter.h"
#include "cli/command.h"
#include "cli/sources.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What `show` prints of those that wait. */
#define BEHIND_MAX 100

struct letter_command {
	char *database_url, *effects_database_url;
	char *consumer, *source, *subject, *reason;
	int state;
	int64_t limit;
	bool all, yes, json;
	const char *id; /* the word after the verb; NULL: none */
	PGconn *effects;
};

#define AT(member) offsetof(struct letter_command, member)
#define STATES "any|retrying|held|failed|retry|discard"

static const struct option options[] = {
    {"database-url", OPT_PG_URL, AT(database_url), NULL,
	"PostgreSQL, where intake and effects live", OPT_SECRET, 0, 0, NULL, "DATABASE_URL"},
    {"effects-database-url", OPT_PG_URL, AT(effects_database_url), NULL,
	"Where effects lives, if not in the same database as intake", OPT_SECRET, 0, 0, NULL, NULL},
    {"consumer", OPT_NAME, AT(consumer), NULL, "Only this consumer (all)", 0, 0, 0, NULL, NULL},
    {"source", OPT_STRING, AT(source), NULL, "Only messages of this source (all)", 0, 0, 0, NULL,
	NULL},
    {"subject", OPT_STRING, AT(subject), NULL, "Only messages about this subject (all)", 0, 0, 0,
	NULL, NULL},
    {"state", OPT_CHOICE, AT(state), "any", "list: only these; any: all but held", 0, 0, 0, STATES,
	NULL},
    {"limit", OPT_INT, AT(limit), "200", "list: at most so many", 0, 1, 1000000, NULL, NULL},
    {"all", OPT_BOOL, AT(all), "off", "retry: every failed message", 0, 0, 0, NULL, NULL},
    {"reason", OPT_STRING, AT(reason), NULL, "discard: why, kept with the message; required", 0, 0,
	0, NULL, NULL},
    {"yes", OPT_BOOL, AT(yes), "off", "discard: do it; else only say what would be done", 0, 0, 0,
	NULL, NULL},
    {"json", OPT_BOOL, AT(json), "off", "One object a message, one a line, for programs", 0, 0, 0,
	NULL, NULL},
    {NULL, OPT_STRING, 0, NULL, NULL, 0, 0, 0, NULL, NULL},
};

static const char usage[] =
    "list|show|retry|discard [ID] [OPTION]...\n\n"
    "  list            messages that could not be applied, and how many wait behind each\n"
    "  show ID         one of them: its event, error and history, and what is held behind it\n"
    "  retry ID        have it tried once more, now; retry --all: every failed one\n"
    "  discard ID      have it passed over without effects, for ever\n\n"
    "ID is a message id (a notification's id), with its source in front (source/id) if you like.\n"
    "A message is marked here; the consumer that holds its shard does the rest, within a second,\n"
    "and then goes on with what is held behind it, in order.  The role umavez_operator may do "
    "this.";

static struct dead_letter_filter filter_of(const struct letter_command *c)
{
	return (struct dead_letter_filter){.consumer = c->consumer,
	    .source = c->source,
	    .subject = c->subject,
	    .id = c->id,
	    .limit = c->limit};
}

static void not_one(
    const struct letter_command *c, const struct dead_letters *found, struct err *err)
{
	char *id = print_escape(c->id);
	const struct dead_letter *a = found->letters;

	if (found->n == 0)
		err_set(err, ERR_FATAL, "no parked message is called %s", id);
	else if (strcmp(a[0].consumer, a[1].consumer) != 0)
		err_set(err, ERR_USAGE, "%s is parked for several: give --consumer (%s, %s)", id,
		    a[0].consumer, a[1].consumer);
	else
		err_set(err, ERR_USAGE, "several are called %s: give --source (%s, %s)", id,
		    a[0].source, a[1].source);
	free(id);
}

/* Free with dead_letters_done(), also after a failure. */
static int find_one(const struct letter_command *c, struct dead_letters *ret, struct err *err)
{
	struct dead_letter_filter filter = filter_of(c);

	if (!c->id) {
		err_set(err, ERR_USAGE, "give one ID (see umavez dead-letter --help)");
		return -1;
	}
	filter.limit = 2;
	if (dead_letters_read(c->effects, &filter, ret, err) < 0)
		return -1;
	if (ret->n != 1) {
		not_one(c, ret, err);
		return -1;
	}
	return 0;
}

static const char *state_of(const struct letter_command *c)
{
	static const char *const names[] = {NULL, "retrying", "held", "failed", "retry", "discard"};

	return names[c->state];
}

static int list(struct letter_command *c, struct err *err)
{
	struct dead_letter_filter filter = filter_of(c);
	struct dead_letters found = {.n = 0};
	struct printer printer;

	filter.state = state_of(c);
	if (dead_letters_read(c->effects, &filter, &found, err) < 0)
		return -1;
	printer_init(&printer, stdout);
	for (size_t i = 0; c->json && i < found.n; i++)
		dead_letter_print_json(stdout, &found.letters[i], NULL);
	if (!c->json && found.n > 0)
		dead_letters_print(&printer, &found);
	if (!c->json && found.n == 0)
		puts("none");
	if ((int64_t)found.n == c->limit)
		fprintf(stderr, "umavez dead-letter: there may be more: see --limit\n");
	dead_letters_done(&found);
	return 0;
}

static int show(struct letter_command *c, struct err *err)
{
	struct dead_letters found = {.n = 0};
	json_t *behind = NULL;
	struct printer printer;
	int rc = -1;

	if (find_one(c, &found, err) < 0 ||
	    dead_letter_behind(c->effects, found.letters, BEHIND_MAX, &behind, err) < 0)
		goto done;
	printer_init(&printer, stdout);
	if (c->json)
		dead_letter_print_json(stdout, found.letters, behind);
	else
		dead_letter_print(&printer, found.letters, behind);
	rc = 0;
done:
	json_decref(behind);
	dead_letters_done(&found);
	return rc;
}

static void tell_marked(const struct letter_command *c, const struct dead_letter *d, const char *as)
{
	struct printer printer;

	printer_init(&printer, stdout);
	if (c->json) {
		json_t *json = json_pack("{s:o, s:o, s:o, s:s, s:I}", "consumer",
		    print_json_text(d->consumer), "source", print_json_text(d->source),
		    "message_id", print_json_text(d->message_id), "marked", as, "behind",
		    (json_int_t)d->behind);

		print_json(stdout, json);
		return;
	}
	print_text(&printer, TINT_PLAIN, "%s/%s: %s, by %s", d->source, d->message_id, as,
	    d->holder ? d->holder : "the next consumer of its shard: nobody holds it now");
	if (d->behind > 0)
		print_text(&printer, TINT_PLAIN, "; behind it: %" PRId64, d->behind);
	putchar('\n');
}

/* What fails or moves meanwhile is somebody else's success, or is said in the end. */
static int retry_all(struct letter_command *c, struct err *err)
{
	struct dead_letter_filter filter = filter_of(c);
	struct dead_letters found = {.n = 0};
	int rc = -1;

	if (c->id)
		return err_set(err, ERR_USAGE, "give an ID or --all, not both");
	filter.state = "failed";
	filter.limit = INT64_MAX;
	if (dead_letters_read(c->effects, &filter, &found, err) < 0)
		goto done;
	for (size_t i = 0; i < found.n; i++) {
		struct err why = ERR_INIT;

		if (dead_letter_mark(c->effects, &found.letters[i], "retry", c->reason, &why) == 0)
			tell_marked(c, &found.letters[i], "retry");
		else if (PQstatus(c->effects) != CONNECTION_OK || *why.sqlstate) {
			*err = why;
			goto done;
		}
	}
	if (found.n == 0 && !c->json)
		puts("none");
	rc = 0;
done:
	dead_letters_done(&found);
	return rc;
}

static int retry(struct letter_command *c, struct err *err)
{
	struct dead_letters found = {.n = 0};
	int rc = -1;

	if (c->all)
		return retry_all(c, err);
	if (find_one(c, &found, err) < 0 ||
	    dead_letter_mark(c->effects, found.letters, "retry", c->reason, err) < 0)
		goto done;
	tell_marked(c, found.letters, "retry");
	rc = 0;
done:
	dead_letters_done(&found);
	return rc;
}

static void tell_loss(const struct dead_letter *d, bool yes)
{
	struct printer printer;

	printer_init(&printer, stderr);
	print_text(&printer, TINT_WARN, "%s/%s (%s) %s never take effect for %s.", d->source,
	    d->message_id, d->subject, yes ? "will" : "would", d->consumer);
	if (d->behind > 0 && !d->ahead)
		print_text(&printer, TINT_PLAIN,
		    " Then what is held behind it is applied: %" PRId64 " %s.", d->behind,
		    print_plural(d->behind, "message", "messages"));
	fputc('\n', stderr);
}

static int discard(struct letter_command *c, struct err *err)
{
	struct dead_letters found = {.n = 0};
	int rc = -1;

	if (!c->reason)
		return err_set(err, ERR_USAGE, "give a --reason");
	if (find_one(c, &found, err) < 0)
		goto done;
	tell_loss(found.letters, c->yes);
	if (!c->yes) {
		command_not_done(err);
		goto done;
	}
	if (dead_letter_mark(c->effects, found.letters, "discard", c->reason, err) < 0)
		goto done;
	tell_marked(c, found.letters, "discard");
	rc = 0;
done:
	dead_letters_done(&found);
	return rc;
}

static const struct verb {
	const char *name;
	int (*run)(struct letter_command *c, struct err *err);
	int max_words;
} verbs[] = {
    {"list", list, 1}, {"show", show, 2}, {"retry", retry, 2}, {"discard", discard, 2}, {0}};

static const struct verb *find_verb(const struct option_words *words, struct err *err)
{
	for (const struct verb *v = verbs; words->n > 0 && v->name; v++) {
		if (strcmp(v->name, words->words[0]) == 0 && words->n <= v->max_words)
			return v;
	}
	err_set(err, ERR_USAGE,
	    "say list, show ID, retry ID or discard ID (see umavez dead-letter --help)");
	return NULL;
}

static int run(void *config, const struct option_words *words, struct err *err)
{
	struct letter_command *c = config;
	const char *url = c->effects_database_url ? c->effects_database_url : c->database_url;
	const struct verb *verb = find_verb(words, err);
	int rc = -1;

	if (!verb)
		return -1;
	if (!url)
		return err_set(err, ERR_USAGE, "--database-url (or DATABASE_URL) is required");
	c->id = words->n > 1 ? words->words[1] : NULL;
	if (sources_open_schema(url, "dead-letter", "effects", &c->effects, err) < 0)
		return -1;
	rc = verb->run(c, err);
	PQfinish(c->effects);
	return rc;
}

int command_dead_letter(int argc, char **argv)
{
	static const struct command_body body = {
	    usage, options, sizeof(struct letter_command), .run_words = run};

	return command_run(&body, argc, argv);
}
