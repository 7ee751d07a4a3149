/*
 * consumer.pml - the effects database, and one worker of one consumer.  A transaction is one step,
 * its COMMIT: before that nobody sees anything of it, and a crash takes it away.
 */
byte cursor;     /* effects.cursor */
byte inbox;      /* masks of rows: effects.inbox */
byte applied;    /* what the handler has done */
byte effects_server; /* a restore cuts every connection */

hidden byte c;

/* consumer/position.c: position_next(), of a shard that has a group. */
mtype:action = { READ_ON, IDLE, RESTART, ASK, AWAIT, JUMP, FORGET };
mtype:replay_seen = { NOTHING, ROW, OTHER };

#ifdef NO_ASK
#define BOOKMARK_AHEAD(cur, bm) false
#else
#define BOOKMARK_AHEAD(cur, bm) ((cur) < (bm))
#endif
#if defined(NO_ASK)
#define WITHOUT_ENTRY READ_ON
#elif defined(FROM_START)
#define WITHOUT_ENTRY RESTART
#else
#define WITHOUT_ENTRY ASK
#endif

#define FOLLOW_TICK(seen)                                                                          \
	((seen) == NOTHING -> AWAIT : ((seen) == ROW -> JUMP : ASK))
#define FOLLOW_ANSWER(say, to, seen, cur, stands)                                                  \
	((say) == NONE -> ((stands) -> FORGET : READ_ON) :                                         \
	    ((say) == START -> RESTART :                                                           \
	    ((cur) >= ID(to, 0) -> ASK :                                                           \
	    ((say) == AGAIN -> FOLLOW_TICK(seen) : JUMP))))
#define FOLLOW_REPLAY(about, say, to, seen, cur, stands)                                           \
	((about) != (cur) + 1 -> FORGET :                                                          \
	    ((say) == NOT_YET -> AWAIT : FOLLOW_ANSWER(say, to, seen, cur, stands)))
#define POSITION_NEXT(bm, about, say, to, seen, cur, stands)                                       \
	(entries == 0 && (cur) -> IDLE :                                                           \
	    (BOOKMARK_AHEAD(cur, bm) -> ASK :                                                      \
	    ((about) -> FOLLOW_REPLAY(about, say, to, seen, cur, stands) :                         \
	    ((cur) && !(stands) -> WITHOUT_ENTRY : READ_ON))))

/* look_at_cursor(), look_for_tick() */
#define CURSOR_STANDS(cur)                                                                         \
	((cur) && (STANDS(cur) || (SEQ(cur) == 0 && entry_id[0] < (cur) && TICK_COMES(cur))))
#define SEEN(to)                                                                                   \
	(last_id <= ID(to, 0) -> NOTHING : (TICK_COMES(ID(to, 0)) -> ROW : OTHER))

/* What a look that nobody disturbs would find. */
#define WOULD_FIND                                                                                 \
	POSITION_NEXT(bookmark, question, reply, reply_tick, SEEN(reply_tick), cursor,             \
	    CURSOR_STANDS(cursor))
#define MAY_READ_ON (has_group && WOULD_FIND == READ_ON)
#define MUST_WAIT (has_group && (WOULD_FIND == IDLE || WOULD_FIND == AWAIT))

mtype:consumer_step = { LOOK_GROUP, LOOK_REPLAY, LOOK_CURSOR, LOOK_STREAM, LOOK_ANSWER, MAKE_GROUP, FOLLOW,
	WAIT, RESTART_CURSOR, READING, APPLY, APPLY_APART };

/* What there is to read: messages, and what stands before them. */
#ifdef PASS_FOREIGN
#define NEWS last_id
#else
#define NEWS newest
#endif

#define CONNECTED (session == effects_server)

/* Where the cursor of a database that lost everything goes before it asks. */
#define LEAST ID(0, 1)

inline look_again()
{
	phase = LOOK_GROUP;
	at = 0;
	behind = 0;
	todo = 0;
	cur = 0;
	to = 0;
	forget_look()
}

inline forget_look()
{
	bm = 0;
	about = 0;
	say = NOT_YET;
	seen = 0;
	stands = 0
}

/* position_next(), and what follows without a command. */
inline decide()
{
	todo = POSITION_NEXT(bm, about, say, to, seen, cur, stands);
	printf("consumer %d: bookmark %d-%d, cursor %d-%d, stream %d-%d to %d-%d: %e\n", _pid, AT(bm),
	    AT(cur), AT(entry_id[0]), AT(last_id), todo);
	if
	:: todo == READ_ON -> phase = READING; at = cur; behind = bm < cur; cur = 0; todo = 0
	:: todo == IDLE || todo == AWAIT -> phase = WAIT; cur = 0; todo = 0
	:: else -> phase = FOLLOW
	fi;
	to = (todo == JUMP -> to : 0);
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
	byte bm, about, to, cur;
	mtype:reply say;
	mtype:replay_seen seen;
	bit stands;
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
		bm = bookmark;
		phase = (has_group -> LOOK_REPLAY : MAKE_GROUP)
	   }
	:: d_step { phase == MAKE_GROUP -> has_group = true; look_again() } /* XGROUP CREATE 0 MKSTREAM */
	:: d_step {
		phase == LOOK_REPLAY -> /* HMGET */
		about = question;
		say = reply;
		to = reply_tick;
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
		phase == LOOK_STREAM -> /* XINFO STREAM, XREAD */
		stands = CURSOR_STANDS(cur);
		seen = (say == AGAIN -> SEEN(to) : NOTHING);
		if
		:: say != NOT_YET && entries -> phase = LOOK_ANSWER
		:: else -> decide()
		fi
	   }
	:: d_step {
		phase == LOOK_ANSWER -> /* HMGET, in check_answer() */
		if
		:: question == about && reply == say && reply_tick == to -> decide()
		:: else -> look_again() /* after a wait */
		fi
	   }

	/* follow(): each is one command, but for RESTART, and for ASK of a new consumer's cursor */
	:: d_step {
		phase == FOLLOW ->
		if
		:: todo == RESTART -> set_bookmark(0); phase = RESTART_CURSOR; todo = 0
		:: todo == ASK && cur == 0 ->
			if
			:: CONNECTED && cursor == 0 -> cursor = LEAST; cur = LEAST
			:: else -> look_again()
			fi
		:: todo == ASK && cur ->
			set_question(cur + 1, NOT_YET, 0); /* feed_ask() */
			set_bookmark(cur);
			look_again()
		:: todo == JUMP ->
			if
			:: CONNECTED && cursor == cur -> cursor = ID(to, 0)
			:: else
			fi;
			look_again()
		:: todo == FORGET -> /* feed_forget() */
			set_bookmark(cur);
			set_question(0, NOT_YET, 0);
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
	:: d_step { phase == WAIT && !MUST_WAIT -> look_again() }

	/* shard_step() */
	:: d_step { phase == READING && (!MAY_READ_ON || cursor != at) -> look_again() }
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
