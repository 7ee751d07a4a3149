/*
 * umavez.pml - rows from the outbox to their effects, while everything fails that may fail.
 *
 * Each step of a process is one statement, script or command of the code, whose function it names.
 * The bounds are macros, which tests/model/check sets.
 */
#ifndef ROWS
#define ROWS 3
#endif
#ifndef ABORTS
#define ABORTS 0
#endif
#ifndef RELAYS
#define RELAYS 1
#endif
#ifndef CONSUMERS
#define CONSUMERS 1
#endif
#ifndef RELAY_BATCH
#define RELAY_BATCH 2
#endif
#ifndef CONSUMER_BATCH
#define CONSUMER_BATCH 2
#endif
#ifndef RELAY_CRASHES
#define RELAY_CRASHES 0
#endif
#ifndef CONSUMER_CRASHES
#define CONSUMER_CRASHES 0
#endif
#ifndef LOSSES
#define LOSSES 0
#endif
#ifndef FLUSHES
#define FLUSHES 0
#endif
#ifndef FOREIGN
#define FOREIGN 0
#endif
#ifndef RESTORES
#define RESTORES 0
#endif
#ifndef MAX_TICKS
#define MAX_TICKS 8
#endif
#ifndef MAX_ENTRIES
#define MAX_ENTRIES 8
#endif

/* Without repair and replay ticks, a row has one position for ever. */
#define ONE_POSITION (FOREIGN == 0 && RESTORES == 0)

bit over; /* no more faults */

#include "intake.pml"
#include "redis.pml"
#include "relay.pml"
#include "consumer.pml"
#include "faults.pml"

/* When nobody has anything left to do. */
inline check_end()
{
	/* P9, P10: every committed row is applied, and nothing else. */
	assert(applied == committed);
	assert(inbox == committed);
	/* P5, P7: all is published.  (Where no message is, all were applied and trimmed.) */
	find_own(last_id, found, row);
	e = found;
	first_after(e, found);
	assert(found == 0 || newest == 0);
#ifndef TRIMMING
	/* The stream is the image of the outbox: once, where no repair may tell it twice. */
	m = 0;
	for (e : 0 .. MAX_ENTRIES - 1) {
		if
		:: e < entries && entry_row[e] ->
			assert(!ONE_POSITION || !(m & BIT(entry_row[e])));
			m = m | BIT(entry_row[e])
		:: else
		fi
	}
	assert(m == committed);
#endif
}

init
{
	atomic {
		chain[0].name = ROOT;
		ticks = 1;
#if defined(ROW_AT_REST)
		committed = BELOW(ROWS);
#elif defined(COMMITTED_BEFORE)
		committed = ALL;
#else
		run producer();
#endif
		run faults();
		run relay(0);
#if RELAYS > 1
		run relay(1);
#endif
		run consumer();
#if CONSUMERS > 1
		run consumer();
#endif
	}
	timeout;
#ifdef ROW_AT_REST
	committed = ALL;
	timeout;
#endif
	d_step { check_end() }
	assert(over)
}
