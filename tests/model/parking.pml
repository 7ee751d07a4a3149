/*
 * parking.pml - messages that fail: parked, held behind one that is, released in order, given up, and
 * brought back by the operator.  ARCHITECTURE.md, "What cannot be applied".
 *
 * The stream is complete from the beginning, and one message is read at a time, as it is after a
 * failure.  Rows are messages in stream order; odd ones are of one purchase, even ones of another.
 * The message FAILING fails until its cause is gone.
 */
#define ROWS 4
#define ALL ((1 << ROWS) - 1)
#define BIT(r) (1 << ((r)-1))
#define OF_PURCHASE(r) ((r) % 2 -> 5 : 10)
#define EARLIER(r) (OF_PURCHASE(r) & (BIT(r) - 1))
#define MAX_ATTEMPTS 2
#ifndef FAILING
#define FAILING 1
#endif
#ifndef CONSUMERS
#define CONSUMERS 1
#endif
#ifndef CRASHES
#define CRASHES 0
#endif
#ifndef REPEATS
#define REPEATS 0
#endif

mtype:state = { NONE, RETRYING, HELD, FAILED, RETRY, DISCARD };

byte cursor;  /* the last message that was passed */
byte inbox, applied, discarded;
mtype:state parked[ROWS + 1];
byte parked_rows; /* the same as a mask */
byte starts;      /* of the message that fails */
bit cured;        /* it would succeed */
bit over;

hidden byte row;

inline set_state(of_row, to)
{
	parked[of_row] = to;
	parked_rows = (to == NONE -> parked_rows & ~BIT(of_row) : parked_rows | BIT(of_row));
	printf("message %d: %e\n", of_row, to)
}

/* The handler's effect, with its inbox row. */
inline take_effect(of_row)
{
	/* P9 */
	assert(!(applied & BIT(of_row)));
	/* P11 */
	assert((EARLIER(of_row) & ~(applied | discarded)) == 0);
	inbox = inbox | BIT(of_row);
	applied = applied | BIT(of_row);
	printf("message %d takes effect\n", of_row)
}

#define FAILS(r) ((r) == FAILING && !cured)

/* What is passed over, and what is held: also the later messages of a purchase, until all before
 * them have gone. */
#ifdef NO_PARKED_KEY
#define IS_DONE(r) (inbox & BIT(r))
#else
#define IS_DONE(r) ((inbox | parked_rows) & BIT(r))
#endif
#ifdef NO_HOLD
#define IS_HELD(r) false
#else
#define IS_HELD(r) (parked_rows & OF_PURCHASE(r) & ~BIT(r))
#endif

/* One transaction that passes one message; a failing one is rolled back, and parked in the next. */
inline pass()
{
	row = at + 1;
	if
	:: cursor != at
	:: else ->
		cursor = row;
		if
		:: IS_DONE(row)
		:: !IS_DONE(row) && IS_HELD(row) -> set_state(row, HELD)
		:: !IS_DONE(row) && !IS_HELD(row) && FAILS(row) -> set_state(row, RETRYING)
		:: else -> take_effect(row)
		fi
	fi
}

/* The first parked message of each purchase may move; what is behind it waits. */
#define IS_FIRST(r) (parked_rows & BIT(r) && !(parked_rows & EARLIER(r)))
#define MOVES(r)                                                                                   \
	(IS_FIRST(r) && (parked[r] == RETRYING || parked[r] == HELD || parked[r] == RETRY ||       \
	    parked[r] == DISCARD))

/* An attempt's transaction, or what is written after it failed. */
inline move(of_row)
{
	if
	:: !MOVES(of_row) /* another owner was faster */
	:: MOVES(of_row) && parked[of_row] == DISCARD ->
		inbox = inbox | BIT(of_row);
		discarded = discarded | BIT(of_row);
		set_state(of_row, NONE)
	:: MOVES(of_row) && parked[of_row] != DISCARD && !FAILS(of_row) ->
		take_effect(of_row);
		set_state(of_row, NONE)
	:: MOVES(of_row) && parked[of_row] != DISCARD && FAILS(of_row) ->
		if
		:: starts >= MAX_ATTEMPTS -> set_state(of_row, FAILED)
		:: else -> set_state(of_row, RETRYING)
		fi
	fi
}

proctype consumer()
{
	byte crashes = CRASHES;
	byte at;     /* where it read */
	bit reading;
	byte trying; /* a parked message whose attempt has begun */

end_idle:
	do
	:: d_step { crashes && !over && (reading || trying) -> crashes--; reading = 0; trying = 0; at = 0 }
	:: d_step { !reading && !trying && cursor < ROWS -> at = cursor; reading = true }
	:: d_step { reading -> pass(); reading = false; at = 0 }
	/* starts, committed before the attempt */
	:: d_step { !reading && !trying && MOVES(1) -> trying = 1; starts = starts + FAILS(1) }
	:: d_step { !reading && !trying && MOVES(2) -> trying = 2; starts = starts + FAILS(2) }
	:: d_step { !reading && !trying && MOVES(3) -> trying = 3; starts = starts + FAILS(3) }
	:: d_step { !reading && !trying && MOVES(4) -> trying = 4; starts = starts + FAILS(4) }
	:: d_step { trying == 1 -> move(1); trying = 0 }
	:: d_step { trying == 2 -> move(2); trying = 0 }
	:: d_step { trying == 3 -> move(3); trying = 0 }
	:: d_step { trying == 4 -> move(4); trying = 0 }
	od
}

/* The cause goes, or does not; the operator marks what was given up, and never moves it. */
proctype operator()
{
	byte repeats = REPEATS;

	do
	:: d_step { !cured -> cured = true; printf("the cause is gone\n") }
	:: d_step { parked[FAILING] == FAILED && cured -> parked[FAILING] = RETRY; printf("operator: retry\n") }
	:: d_step { parked[FAILING] == FAILED -> parked[FAILING] = DISCARD; printf("operator: discard\n") }
	:: d_step { repeats && cursor -> repeats--; cursor = 0; printf("the stream is read again\n") }
	:: over = true; break
	od
}

init
{
	atomic {
		for (row : 0 .. ROWS) { parked[row] = NONE }
		run operator();
		run consumer();
#if CONSUMERS > 1
		run consumer();
#endif
	}
	timeout;
	d_step {
		/* Every message is accounted for, and only a failed one holds others: its purchase's. */
		assert((inbox | parked_rows) == ALL && !(inbox & parked_rows));
		assert(inbox == (applied | discarded));
		assert(!parked_rows || parked[FAILING] == FAILED);
		assert((parked_rows & ~OF_PURCHASE(FAILING)) == 0)
	}
	assert(over)
}
