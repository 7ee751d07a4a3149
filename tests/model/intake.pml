/*
 * intake.pml - the intake database: rows of the outbox and the chain of ticks.
 *
 * A snapshot is the set of rows that it sees, a mask.  Rows are numbered by their outbox id; odd
 * ones are of one purchase, even ones of another.  What can be seen of a transaction is when it
 * commits, so an open one is a row that has not ended yet; the row lock of its purchase lets rows of
 * one purchase end in the order of their ids only.
 */
#define ALL ((1 << ROWS) - 1)
#define BIT(r) (1 << ((r)-1))
#define UPTO(r) ((1 << (r)) - 1)
#define BELOW(r) ((r) -> UPTO((r)-1) : 0)
#define ABOVE(r) (ALL & ~UPTO(r))
#ifdef ONE_PURCHASE
#define OF_PURCHASE(r) ALL
#else
#define ODD_ROWS 5
#define OF_PURCHASE(r) ((r) % 2 -> ODD_ROWS : (ALL & ~ODD_ROWS))
#endif
#define EARLIER(r) (OF_PURCHASE(r) & UPTO((r)-1))

/* A position, <tick>-<outbox id>; greater means later.  The greatest row id stands for "every row". */
#define ID(t, r) ((t)*4 + (r))
#define TICK(id) ((id) >> 2)
#define SEQ(id) ((id)&3)
#define AT(id) TICK(id), SEQ(id) /* for printf's %d-%d */
#define MIN(a, b) ((a) < (b) -> (a) : (b))
#define MAX(a, b) ((a) < (b) -> (b) : (a))

#define ROOT 1

typedef tick {
	byte name;
	byte previous; /* 0: the root, as umavez migrate makes it */
	byte snapshot;
	byte from; /* a position: of a repair or replay tick; 0: an ordinary one */
	bit replay
};
tick chain[MAX_TICKS]; /* by name */
byte ticks;
#define LAST chain[ticks - 1]

byte committed, aborted; /* masks of rows */
bit has_ack;             /* stream_group has the consumer's row */
byte ack;

/* Scratch, never kept from one step to the next. */
hidden byte k, v, w, b, m, after, rows, found, row, name, backs;

/* What a snapshot sees. */
#ifdef ID_GREATER_THAN
/* "Published up to the greatest id": one that commits late is taken for published. */
inline current_snapshot(ret)
{
	ret = 0;
	for (row : 1 .. ROWS) {
		if
		:: (committed & BIT(row)) -> ret = UPTO(row)
		:: else
		fi
	}
}
#else
inline current_snapshot(ret)
{
	ret = committed
}
#endif

inline find_tick(of_name, ret)
{
	ret = 0;
	do
	:: chain[ret].name == of_name -> break
	:: else -> ret++
	od
}

/* schema/003: tick_window(), as the mask of the rows that are or were in the batch of chain[k]. */
inline window_of(ret)
{
	ret = 0;
	w = k;
	after = 0;
	do
	:: chain[w].previous == 0 -> break
	:: else ->
		name = (chain[w].from -> TICK(chain[w].from) : chain[w].previous);
		find_tick(name, v);
		ret = ret | (chain[w].snapshot & ~chain[v].snapshot & ABOVE(after));
		if
		:: chain[w].from == 0 -> break
		:: else -> after = MAX(after, SEQ(chain[w].from)); w = v
		fi
	od;
	ret = ret & committed
}

/* A repair voids what stands between the position that it starts from and itself. */
#define VOIDS(t, position)                                                                         \
	(t.from && !t.replay && t.name > TICK(position) && t.from < (position))

/* The same without what tick_cap() cuts off. */
inline batch_of(ret)
{
	window_of(ret);
	for (v : 0 .. ticks - 1) {
		if
		:: chain[v].from == 0 || chain[v].replay || chain[v].name <= chain[k].name
		:: else ->
			if
			:: TICK(chain[v].from) < chain[k].name -> ret = 0
			:: TICK(chain[v].from) == chain[k].name ->
				ret = ret & UPTO(SEQ(chain[v].from))
			:: else
			fi
		fi
	}
}

inline is_void(position, ret)
{
	ret = false;
	for (v : 0 .. ticks - 1) {
		ret = ret || VOIDS(chain[v], position)
	}
}

/* relay/sql/known.sql; lacking: the rows that ever stood between the position and the stream's first. */
inline know(position, first, ret_known, ret_void, ret_lacking)
{
	ret_known = TICK(position) < chain[0].name;
	ret_lacking = 0;
	for (k : 0 .. ticks - 1) {
		ret_known = ret_known || chain[k].name == TICK(position);
		if
		:: chain[k].name < TICK(position) || chain[k].name > TICK(first)
		:: else ->
			window_of(rows);
			rows = rows & (chain[k].name == TICK(position) -> ABOVE(SEQ(position)) : ALL);
			rows = rows & (chain[k].name == TICK(first) -> BELOW(SEQ(first)) : ALL);
			ret_lacking = ret_lacking | rows
		fi
	}
	is_void(position, ret_void)
}

/* relay/sql/first_after.sql; also what outbox_fill() reads, one row a call. */
inline first_after(position, ret)
{
	ret = 0;
	k = 0;
	do
	:: k == ticks -> break
	:: k < ticks && chain[k].name < TICK(position) -> k++
	:: else ->
		batch_of(rows);
		rows = rows & (chain[k].name == TICK(position) -> ABOVE(SEQ(position)) : ALL);
		row = 1;
		do
		:: row > ROWS -> break
		:: row <= ROWS && (rows & BIT(row)) -> ret = ID(chain[k].name, row); break
		:: else -> row++
		od;
		if
		:: ret -> break
		:: else -> k++
		fi
	od
}

/* relay/sql/branch.sql: given, where a replay begins. */
inline given_position(position, ret)
{
	ret = ID(chain[0].name, 0);
	for (k : 0 .. ticks - 1) {
		if
		:: chain[k].name <= TICK(position) ->
			ret = ID(chain[k].name, (chain[k].name == TICK(position) -> SEQ(position) : ROWS))
		:: else
		fi
	}
}

/* What the repair v, which voids a position, leads back to: where it began, and where the position's
 * own tick did, if that is one of a repair or replay. */
inline lead_back(position)
{
	backs = backs | (1 << v);
	for (w : 0 .. ticks - 1) {
		if
		:: chain[w].name == TICK(position) && chain[w].from -> backs = backs | (1 << w)
		:: else
		fi
	}
}

/* relay/sql/branch.sql: back and solid, where a repair begins.  backs is the set of ticks that it has
 * been led back to the beginnings of. */
inline solid_position(position, ret)
{
	given_position(position, ret);
	backs = 0;
	do
	:: found = backs;
		for (v : 0 .. ticks - 1) {
			if
			:: VOIDS(chain[v], ret) -> lead_back(ret)
			:: else
			fi;
			for (k : 0 .. ticks - 1) {
				if
				:: (found & (1 << k)) && VOIDS(chain[v], chain[k].from) ->
					lead_back(chain[k].from)
				:: else
				fi
			}
		}
		if
		:: backs == found -> break
		:: else
		fi
	od;
	for (k : 0 .. ticks - 1) {
		ret = ((backs & (1 << k)) -> MIN(ret, chain[k].from) : ret)
	}
}

/* The INSERT of tick.sql and branch.sql: PRIMARY KEY (shard, previous_tick), UNIQUE (shard, tick). */
inline insert_tick(with_name, with_previous, with_snapshot, with_from, with_replay, ret_inserted)
{
	ret_inserted = true;
	for (k : 0 .. ticks - 1) {
		if
#ifndef NO_TICK_CHAIN
		:: chain[k].previous == with_previous -> ret_inserted = false
#endif
		:: chain[k].name == with_name -> ret_inserted = false
		:: else
		fi
	}
	if
	:: !ret_inserted
	:: else ->
		assert(ticks < MAX_TICKS);
		k = ticks;
		do
		:: k > 0 && chain[k - 1].name > with_name ->
			chain[k].name = chain[k - 1].name;
			chain[k].previous = chain[k - 1].previous;
			chain[k].snapshot = chain[k - 1].snapshot;
			chain[k].from = chain[k - 1].from;
			chain[k].replay = chain[k - 1].replay;
			k--
		:: else -> break
		od;
		chain[k].name = with_name;
		chain[k].previous = with_previous;
		chain[k].snapshot = with_snapshot;
		chain[k].from = with_from;
		chain[k].replay = with_replay;
		ticks++;
		printf("tick %d: after %d, sees rows %d, from %d-%d, replay %d\n", with_name,
		    with_previous, with_snapshot, AT(with_from), with_replay)
	fi
}

/* intake.receive(): a transaction ends.  Earlier rows of its purchase have ended: its lock sees to that. */
#define MAY_END(r)                                                                                 \
	((r) <= ROWS && !((committed | aborted) & BIT(r)) &&                                       \
	    (EARLIER(r) & ~(committed | aborted)) == 0)

proctype producer()
{
	byte aborts = ABORTS;

	do
	:: d_step { MAY_END(1) -> committed = committed | BIT(1); printf("row 1 commits\n") }
	:: d_step { MAY_END(2) -> committed = committed | BIT(2); printf("row 2 commits\n") }
	:: d_step { MAY_END(3) -> committed = committed | BIT(3); printf("row 3 commits\n") }
	:: d_step { aborts && MAY_END(1) -> aborted = aborted | BIT(1); aborts--; printf("row 1 aborts\n") }
	:: d_step { aborts && MAY_END(2) -> aborted = aborted | BIT(2); aborts--; printf("row 2 aborts\n") }
	:: d_step { aborts && MAY_END(3) -> aborted = aborted | BIT(3); aborts--; printf("row 3 aborts\n") }
	:: (committed | aborted) == ALL -> break
	od
}
