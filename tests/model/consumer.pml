/*
 * consumer.pml - the effects database, and one worker of one consumer.  A transaction is one step,
 * its COMMIT: before that nobody sees anything of it, and a crash takes it away.
 */
byte cursor;     /* effects.cursor */
byte inbox;      /* masks of rows: effects.inbox */
byte applied;    /* what the handler has done */
byte effects_server; /* a restore cuts every connection */

hidden byte b, c, m;

/* consumer/position.c: position_next() */
mtype:action = { READ_ON, IDLE, MAKE_GROUP, RESTART, ASK, AWAIT, JUMP, FORGET };
mtype:replay_seen = { NOTHING, ROW, OTHER };

#ifdef NO_ASK
#define BEGINS_BEHIND(cur, first) false
#define BOOKMARK_AHEAD(cur, bm) false
#else
#define BEGINS_BEHIND(cur, first) (0 < (cur) && (cur) < (first))
#define BOOKMARK_AHEAD(cur, bm) ((cur) < (bm))
#endif
#define FOLLOW_ANSWER(ans, seen, cur, first)                                                       \
	(!(ans) -> (BEGINS_BEHIND(cur, first) -> READ_ON : FORGET) :                               \
	    ((cur) >= ID(ans, 0) -> ASK :                                                          \
	    ((seen) == NOTHING -> AWAIT : ((seen) == ROW -> JUMP : ASK))))
#define FOLLOW_REPLAY(ask, to, ans, seen, cur, first)                                              \
	((to) == (cur) + 1 -> FOLLOW_ANSWER(ans, seen, cur, first) :                               \
	    ((ask) == (cur) + 1 -> AWAIT : FORGET))
#define POSITION_NEXT(group, bm, ask, to, ans, seen, cur, first, end)                              \
	(!(group) -> MAKE_GROUP :                                                                  \
	    ((first) == 0 && (cur) > 0 -> IDLE :                                                   \
	    ((end) < (cur) -> RESTART :                                                            \
	    (BOOKMARK_AHEAD(cur, bm) -> ASK :                                                      \
	    ((ask) || (to) -> FOLLOW_REPLAY(ask, to, ans, seen, cur, first) :                      \
	    (BEGINS_BEHIND(cur, first) -> ASK : READ_ON))))))

/* What a look that nobody disturbs would find.  Seen: only whether there is anything. */
#define WOULD_FIND                                                                                 \
	POSITION_NEXT(has_group, bookmark, asked, answered, answer,                                \
	    (last_id > ID(answer, 0) -> OTHER : NOTHING), cursor, entry_id[0], last_id)

mtype:consumer_step = { LOOK_GROUP, LOOK_REPLAY, LOOK_CURSOR, LOOK_STREAM, FOLLOW, WAIT,
	RESTART_CURSOR, READING, APPLY, APPLY_APART };

/* What there is to read: messages, and what stands before them. */
#ifdef PASS_FOREIGN
#define NEWS last_id
#else
#define NEWS newest
#endif

#define CONNECTED (session == effects_server)

inline look_again()
{
	phase = LOOK_GROUP;
	at = 0;
	behind = 0;
	todo = 0;
	cur = 0;
	ans = 0;
	forget_look()
}

inline forget_look()
{
	group = 0;
	bm = 0;
	ask = 0;
	to = 0;
	seen = 0
}

/* position_next(), and what follows without a command. */
inline decide()
{
	todo = POSITION_NEXT(group, bm, ask, to, ans, seen, cur, entry_id[0], last_id);
	printf("consumer %d: group %d, bookmark %d-%d, cursor %d-%d, stream %d-%d to %d-%d: %e\n", _pid,
	    group, AT(bm), AT(cur), AT(entry_id[0]), AT(last_id), todo);
	if
	:: todo == READ_ON -> phase = READING; at = cur; behind = bm < cur; cur = 0; todo = 0
	:: todo == IDLE || todo == AWAIT -> phase = WAIT; cur = 0; todo = 0
	:: else -> phase = FOLLOW
	fi;
	ans = (todo == JUMP -> ans : 0);
	forget_look()
}

inline forget_batch()
{
	upto = 0;
	n = 0;
	batch[0] = 0;
	batch[1] = 0
}

/* The handler, for one message that was not in the inbox. */
inline handle(of_row)
{
	/* P9 */
	assert(!(applied & BIT(of_row)));
	/* P11 */
	assert((EARLIER(of_row) & committed & ~applied) == 0);
	applied = applied | BIT(of_row);
	printf("row %d takes effect\n", of_row)
}

/* P10: what the stream holds at or before the cursor is applied, or comes again behind it; or the
 * cursor is seen to be ahead of the stream. */
inline check_cursor()
{
	for (c : 0 .. MAX_ENTRIES - 1) {
		if
		:: c >= entries || entry_id[c] > cursor || entry_row[c] == 0
		:: else ->
			m = (applied & BIT(entry_row[c])) != 0;
			for (k : 0 .. ticks - 1) {
				batch_of(rows);
				m = m || ((rows & BIT(entry_row[c])) &&
					     ID(chain[k].name, entry_row[c]) > cursor)
			}
			assert(m || last_id < cursor)
		fi
	}
}

/* effects.apply_batch(), all but the cursor. */
inline apply_messages()
{
	for (b : 0 .. n - 1) {
		if
#ifndef NO_INBOX_KEY
		:: inbox & BIT(batch[b])
#endif
		:: else ->
			inbox = inbox | BIT(batch[b]);
			handle(batch[b])
		fi
	}
}

proctype consumer()
{
	mtype:consumer_step phase = LOOK_GROUP;
	byte crashes = CONSUMER_CRASHES;
	byte session; /* with which server */
	byte at;    /* shard->cursor */
	bit behind; /* shard->bookmark_behind */
	/* struct standing */
	bit group;
	byte bm, ask, to, ans, cur;
	mtype:replay_seen seen;
	byte batch[2], n, upto;
	mtype:action todo;

end_idle:
	do
	:: d_step {
		crashes && !over && phase != LOOK_GROUP ->
		crashes--;
		look_again();
		forget_batch();
		printf("consumer %d: crashes\n", _pid)
	   }

	/* look() */
	:: d_step {
		phase == LOOK_GROUP -> /* connect_both(), XINFO GROUPS */
		session = effects_server;
		group = has_group;
		bm = bookmark;
		phase = LOOK_REPLAY
	   }
	:: d_step {
		phase == LOOK_REPLAY -> /* HMGET */
		ask = asked;
		to = answered;
		ans = answer;
		phase = LOOK_CURSOR
	   }
	:: d_step {
		phase == LOOK_CURSOR -> /* cursor_read.sql */
		if
		:: CONNECTED -> cur = cursor; phase = LOOK_STREAM
		:: else -> look_again()
		fi
	   }
	:: d_step {
		phase == LOOK_STREAM -> /* XINFO STREAM; XREAD, in look_for_replay() */
		c = ID(ans, 0);
		find_behind(c, b);
		if
		:: !ans || b == entries -> seen = NOTHING
		:: ans && b < entries && entry_row[b] && TICK(entry_id[b]) == ans -> seen = ROW
		:: else -> seen = OTHER
		fi;
		decide()
	   }

	/* follow(): each is one command, but for RESTART */
	:: d_step {
		phase == FOLLOW ->
		if
		:: todo == MAKE_GROUP -> has_group = true; look_again() /* XGROUP CREATE 0 MKSTREAM */
		:: todo == RESTART -> set_bookmark(0); phase = RESTART_CURSOR; todo = 0
		:: todo == ASK -> /* feed_ask() */
			answered = 0;
			answer = 0;
			asked = cur + 1;
			set_bookmark(cur);
			look_again()
		:: todo == JUMP ->
			if
			:: CONNECTED && cursor == cur -> cursor = ID(ans, 0)
			:: else
			fi;
			look_again()
		:: todo == FORGET -> /* feed_forget() */
			set_bookmark(cur);
			asked = 0;
			answered = 0;
			answer = 0;
			look_again()
		fi
	   }
	:: d_step {
		phase == RESTART_CURSOR ->
		if
		:: CONNECTED && cursor == cur -> cursor = 0
		:: else
		fi;
		look_again()
	   }
	:: d_step { phase == WAIT && WOULD_FIND != IDLE && WOULD_FIND != AWAIT -> look_again() }

	/* shard_step() */
	:: d_step { phase == READING && (WOULD_FIND != READ_ON || cursor != at) -> look_again() }
	:: d_step { phase == READING && behind -> set_bookmark(at); behind = false }
	:: d_step {
		phase == READING && NEWS > at && entries -> /* shard_read() */
		find_behind(at, b);
		do
		:: n == CONSUMER_BATCH || b == entries -> break
		:: else ->
			if
			:: entry_row[b] -> batch[n] = entry_row[b]; upto = entry_id[b]; n++
#ifdef PASS_FOREIGN
			:: else -> upto = entry_id[b]
#else
			:: else
#endif
			fi;
			b++
		od;
		printf("consumer %d: read from %d-%d up to %d-%d\n", _pid, AT(at), AT(upto));
		phase = APPLY
	   }
	:: d_step {
		phase == APPLY -> /* inbox_apply(), up to and with COMMIT */
		if
		:: !CONNECTED -> look_again()
#ifndef NO_CURSOR_COMPARE
		:: CONNECTED && cursor != at -> look_again(); printf("consumer %d: the cursor was moved\n", _pid)
#endif
		:: else ->
			/* P11: of two that read from one place, one commits */
			assert(upto > cursor);
			cursor = upto;
			at = upto;
			printf("consumer %d: cursor %d-%d\n", _pid, AT(cursor));
			behind = true;
#ifdef CURSOR_APART
			phase = APPLY_APART
#else
			apply_messages();
			check_cursor();
			phase = READING
#endif
		fi;
		if
		:: phase != APPLY_APART -> forget_batch()
		:: else
		fi
	   }
#ifdef CURSOR_APART
	:: d_step {
		phase == APPLY_APART -> /* the effects, in a transaction of their own */
		apply_messages();
		forget_batch();
		phase = READING
	   }
#endif
	od
}
