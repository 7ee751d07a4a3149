#include "simulate/dead_letters.h"

#include "simulate_text.h"

#include <stdlib.h>

#define FIRST_ERROR                                                                                \
	"(SELECT error FROM witness.dead_letter WHERE state = 'failed' ORDER BY place LIMIT 1)"

void dead_letters_install(struct world *w)
{
	world_sql(w, "%s", simulate_sql_dead_letter_sql);
}

/* One statement, one snapshot: each dead letter has an outbox row and no inbox row. */
bool dead_letters_are_the_rest(struct world *w)
{
	return world_int(w, "SELECT (SELECT count(*) FROM witness.effects_lost)"
			    " - (SELECT count(*) FROM witness.dead_letter)") == 0;
}

static int64_t count(struct world *w, const char *condition)
{
	return world_int(w, "SELECT count(*) FROM witness.dead_letter WHERE %s", condition);
}

void dead_letters_read(struct world *w, struct dead_letters *ret)
{
	*ret = (struct dead_letters){
	    .failed = count(w, "state = 'failed'"),
	    .held = count(w, "state = 'held'"),
	    .error = world_text(w, "SELECT " FIRST_ERROR),
	    .same_errors = count(w, "error = " FIRST_ERROR),
	};
}

void dead_letters_done(struct dead_letters *d)
{
	free(d->error);
}
