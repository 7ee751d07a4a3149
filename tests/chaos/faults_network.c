#include "tests/chaos/faults.h"
#include "tests/chaos/scene.h"

#define MAX_DELAY_MS 100
#define MAX_BYTES 20000 /* of an append with several entries, or a batch */

static struct proxy *proxy_of(struct scene *s, const struct step *step)
{
	return s->proxies[step->target];
}

static enum proxy_way way_of(const struct step *step)
{
	return step->detail % 2 ? PROXY_TO_SERVER : PROXY_TO_CLIENT;
}

void fault_cut(struct scene *s, const struct step *step)
{
	proxy_cut(proxy_of(s, step), step->detail % 2 ? PROXY_CLOSE : PROXY_RESET);
	s->counts.cuts++;
}

void fault_half_close(struct scene *s, const struct step *step)
{
	proxy_half_close(proxy_of(s, step), way_of(step));
	s->counts.cuts++;
}

void fault_cut_after(struct scene *s, const struct step *step)
{
	proxy_cut_after(proxy_of(s, step), way_of(step), step->detail / 2 % MAX_BYTES);
	s->counts.cuts++;
}

void fault_cut_answer(struct scene *s, const struct step *step)
{
	static const char *const patterns[ROLES][2] = {[PRODUCER] = {"intake.receive", "-"},
	    [RELAY] = {"tick", "EVAL"},
	    [CONSUMER] = {"COMMIT", "XGROUP"}};

	proxy_cut_answer(proxy_of(s, step),
	    patterns[s->members[step->target / 2].role][step->target % 2],
	    step->detail % 2 ? PROXY_KEEP_ALL : PROXY_KEEP_END);
	s->counts.cuts++;
}

void fault_hold(struct scene *s, const struct step *step)
{
	proxy_hold(proxy_of(s, step), 1 + (unsigned)(step->detail % PROXY_BOTH));
	s->counts.cuts++;
}

/* Sometimes what was held comes after all, and sometimes the connections are gone. */
void fault_release(struct scene *s, const struct step *step)
{
	if (step->detail / PROXY_BOTH % 2)
		proxy_cut(proxy_of(s, step), PROXY_RESET);
	proxy_heal(proxy_of(s, step));
}

void fault_delay(struct scene *s, const struct step *step)
{
	proxy_delay(proxy_of(s, step), 1 + (int64_t)(step->detail % MAX_DELAY_MS));
}

/* Relays and consumers wait for a statement for minutes: their connections to PostgreSQL are cut
 * in the end. */
void fault_forget(struct scene *s, const struct step *step)
{
	proxy_forget(proxy_of(s, step));
	s->counts.cuts++;
}
