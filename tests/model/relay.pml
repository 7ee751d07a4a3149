/*
 * relay.pml - one worker of one relay.  Each option of its loop is one statement or one script; what
 * a crash takes away is everything but its number.
 */
mtype:relay_step = { FIND_STREAM, FIND_OWN, FIND_AGAIN, FIND_CHAIN, FIND_NEXT, REPAIR, REPAIR_INSERT, REVOKE,
	RUN, READ, APPEND, CUT, CUT_INSERT, REPLAY_LOOK, REPLAY_KNOW, REPLAY, REPLAY_INSERT, ANSWER, TRIM,
	TRIM_STORE, TRIM_CUT };

/* scan_back() and relay/sql/owns.sql: the newest entry that stands for a row of the outbox under that
 * row's position, and the newest above it that did until a repair. */
inline find_own(upto, ret_own, ret_stray)
{
	ret_own = 0;
	ret_stray = 0;
	e = entries;
	do
	:: e == 0 -> break
	:: else ->
		e--;
		k = 0;
		do
		:: k < ticks && chain[k].name != TICK(entry_id[e]) -> k++
		:: else -> break
		od;
		if
		:: entry_id[e] > upto || entry_row[e] == 0 || k == ticks ||
		       entry_row[e] != SEQ(entry_id[e])
		:: else ->
			window_of(rows);
			m = rows & BIT(entry_row[e]);
			batch_of(rows);
			if
			:: rows & BIT(entry_row[e]) -> ret_own = entry_id[e]; break
			:: else -> ret_stray = (m && !ret_stray -> entry_id[e] : ret_stray)
			fi
		fi
	od
}

#define TICK_NAME (MAX(chain_end, least) + 1 + me) /* clocks differ: the second relay's is ahead */

/* Nothing to do: until somebody commits, cuts, appends, asks, or Redis loses. */
#define STREAM_MOVED (last_id != expected || session != server)
#define TICK_DUE (LAST.name != chain_end || (committed & ~LAST.snapshot))
#define QUESTION (question && reply == NOT_YET && entries)
#define TRIM_DUE (has_group && (!has_ack || ack != MIN(bookmark, own) ||                           \
	(entries && entry_id[0] < MIN(bookmark, own))))
#ifdef TRIM_LOST_END
#define NEWEST_STANDS true
#else
#define NEWEST_STANDS STANDS(own)
#endif

/* place_shard(): nothing is remembered. */
inline unplace()
{
	phase = FIND_STREAM;
	last = 0;
	least = 0;
	own = 0;
	stray = 0;
	chain_end = 0;
	at = 0;
	expected = 0;
	setback = 0;
	drained = 0;
	session = 0
}

/* What is behind the last tick needs no keeping: the next one is named above that. */
inline place()
{
	expected = last;
	known = last;
	last = 0;
#ifndef TRIMMING
	own = 0;
#endif
	least = (least <= chain_end -> 0 : least);
	phase = RUN
}

/* relay/revoke.lua, for what is_lasting() does not know to hold for any stream.  One step: what else
 * may answer or repair between its commands is another relay, which takes answers back itself. */
inline revoke()
{
	if
	:: question == 0 || reply == NOT_YET
	:: else ->
		is_void(ID(reply_tick, 1), found);
		if
		:: reply == AGAIN && !found
		:: else -> reply = NOT_YET; reply_tick = 0; printf("the answer is taken back\n")
		fi
	fi
}

inline forget_step()
{
	snapshot = 0;
	from = 0;
	position = 0;
	said = NOT_YET;
	replay_tick = 0;
	n = 0;
	batch[0] = 0;
	batch[1] = 0
}

/* relay/append.lua */
inline append(ret_moved)
{
	ret_moved = STREAM_MOVED;
#ifdef NO_COMPARE_APPEND
	ret_moved = (last_id >= batch[0]); /* XADD itself refuses these */
#endif
	if
	:: ret_moved
	:: else ->
		if
		:: setback && has_group && bookmark > last_id -> bookmark = last_id
		:: else
		fi;
		for (v : 0 .. n - 1) {
			row = SEQ(batch[v]);
			/* P5 */
			assert((EARLIER(row) & committed & ~published) == 0);
			/* P6, P7 */
			assert(!ONE_POSITION || !first_id[row] || first_id[row] == batch[v]);
			published = published | BIT(row);
			if
			:: ONE_POSITION -> first_id[row] = batch[v]
			:: else
			fi;
			xadd(batch[v], row)
		}
	fi
}

proctype relay(bit me)
{
	mtype:relay_step phase = FIND_STREAM;
	byte crashes = RELAY_CRASHES;
	byte known;             /* shard->known: where this process last saw the stream end */
	byte last, least, own, stray; /* the finding */
	byte session;           /* with which server it was begun */
	byte chain_end;         /* shard->last_tick */
	byte at, expected;      /* publisher->at */
	bit setback, drained;
	byte snapshot, from, position, replay_tick; /* between a statement and what follows from it */
	mtype:reply said;
	byte batch[2], n;

end_idle:
	do
	:: d_step {
		crashes && !over && !(phase == FIND_STREAM && !known) ->
		crashes--;
		unplace();
		forget_step();
		known = 0;
		printf("relay %d: crashes\n", me)
	   }

	/* find_position() */
	:: d_step {
		phase == FIND_STREAM -> /* relay/look.lua */
		last = last_id;
		session = server;
		least = TICK(MAX(last_id, bookmark));
		phase = FIND_OWN
	   }
	:: d_step {
		phase == FIND_OWN -> /* scan_back() */
		if
		:: session != server -> unplace()
		:: else ->
#ifdef REMEMBER_POSITION
			if
			:: known -> own = known
			:: else -> find_own(last, own, stray)
			fi;
#else
			find_own(last, own, stray);
#endif
#ifdef LOOK_ONCE
			phase = FIND_CHAIN
#else
			phase = (own == last -> FIND_CHAIN : FIND_AGAIN)
#endif
		fi
	   }
	:: d_step {
		phase == FIND_AGAIN -> /* relay/look.lua */
		if
		:: last_id < last || session != server -> unplace()
		:: else -> phase = FIND_CHAIN
		fi
	   }
	:: d_step {
		phase == FIND_CHAIN -> /* relay/sql/chain.sql */
		chain_end = LAST.name;
		at = (own -> own : (has_ack -> ack : 0)); /* position_start() */
		phase = FIND_NEXT
	   }
	:: d_step {
		phase == FIND_NEXT -> /* relay/sql/first_after.sql, then position_decide() */
		first_after(at, found);
		setback = (known == 0 || last != known);
		printf("relay %d: own %d-%d, last %d-%d, publishes after %d-%d\n", me, AT(own), AT(last),
		    AT(at));
		if
		:: stray -> at = stray; phase = REPAIR
#ifndef NO_REPAIR
		:: !stray && found && found <= last -> phase = REPAIR
#endif
		:: else -> at = MAX(at, last); phase = REVOKE
		fi;
		stray = 0
	   }
	:: d_step {
		phase == REPAIR -> /* chain_branch() */
		if
		:: LAST.name != chain_end -> unplace()
		:: else ->
			snapshot = committed;
			solid_position(at, from);
			phase = REPAIR_INSERT
		fi
	   }
	:: d_step {
		phase == REPAIR_INSERT ->
		name = TICK_NAME;
		insert_tick(name, chain_end, snapshot, from, false, found);
		if
		:: found ->
			chain_end = name;
			at = ID(chain_end, 0);
			phase = REVOKE
		:: else -> unplace()
		fi;
		forget_step()
	   }
	:: d_step {
		phase == REVOKE -> /* replay_revoke(), publisher_start() */
		revoke();
		place()
	   }

	/* run_once() */
	:: d_step { phase == RUN && STREAM_MOVED -> unplace() } /* poll_stream() */
	:: d_step { phase == RUN && !drained -> phase = READ }
	:: d_step {
		phase == RUN && drained && TICK_DUE -> /* relay/sql/tick.sql, up to its INSERT */
		if
		:: LAST.name != chain_end -> unplace()
		:: else -> current_snapshot(snapshot); phase = CUT_INSERT
		fi
	   }
	:: d_step {
		phase == CUT_INSERT ->
		name = TICK_NAME;
		insert_tick(name, chain_end, snapshot, 0, false, found);
		if
		:: found -> chain_end = name; least = 0; drained = false; phase = RUN
		:: else -> unplace()
		fi;
		forget_step()
	   }

	/* publisher_run() */
	:: d_step {
		phase == READ -> /* outbox_fill() */
		found = at;
		do
		:: n == RELAY_BATCH -> break
		:: else ->
			e = found;
			first_after(e, found);
			if
			:: found -> batch[n] = found; n++
			:: else -> break
			fi
		od;
		if
		:: n -> phase = APPEND; printf("relay %d: read from %d-%d\n", me, AT(batch[0]))
		:: else -> drained = true; phase = RUN
		fi
	   }
	:: d_step {
		phase == APPEND ->
		printf("relay %d: append from %d-%d after %d-%d\n", me, AT(batch[0]), AT(expected));
		append(found);
		if
		:: found -> unplace(); printf("relay %d: moved\n", me)
		:: else ->
			at = batch[n - 1];
			expected = at;
#ifdef TRIMMING
			own = at;
#endif
			known = at;
			setback = false;
			phase = RUN
		fi;
		forget_step()
	   }

#ifdef TRIMMING
	/* trim_run() */
	:: d_step {
		phase == RUN && TRIM_DUE -> /* relay/groups.lua */
		position = MIN(bookmark, own);
		phase = TRIM_STORE
	   }
	:: d_step {
		phase == TRIM_STORE -> /* relay/sql/register.sql, acknowledge.sql */
		has_ack = true;
		ack = position;
		phase = TRIM_CUT
	   }
	:: d_step {
		phase == TRIM_CUT -> /* relay/trim.lua */
		if
		:: has_group && NEWEST_STANDS -> found = MIN(position, MIN(bookmark, own)); xtrim(found)
		:: else
		fi;
		forget_step();
		phase = RUN
	   }
#endif

	/* replay_run().  poll_stream() has been before, and Redis may have lost entries since. */
	:: d_step {
		phase == RUN && QUESTION -> /* HGETALL */
		position = question - 1;
		phase = REPLAY_LOOK
	   }
	:: d_step {
		phase == REPLAY_LOOK -> /* relay/look.lua */
		from = entry_id[0];
		if
		:: from -> phase = REPLAY_KNOW
		:: else -> forget_step(); phase = RUN
		fi
	   }
	:: d_step {
		phase == REPLAY_KNOW -> /* relay/sql/known.sql; relay/sql/first_after.sql, of is_ahead() */
		know(position, from, e, b, m);
		from = 0;
		first_after(at, found);
#ifdef NONE_TO_VOID
		b = false;
#endif
		if
		:: !e -> said = START; phase = ANSWER
		:: e && b -> phase = REPLAY
		:: e && !b && found && found <= position ->
			forget_step();
			drained = false;
			phase = READ
		:: else ->
			said = (m -> NOT_YET : NONE);
			phase = (m -> REPLAY : ANSWER)
		fi
	   }
	:: d_step {
		phase == REPLAY -> /* chain_branch() */
		if
		:: LAST.name != chain_end -> unplace(); forget_step()
		:: else ->
			snapshot = committed;
			given_position(position, from);
			phase = REPLAY_INSERT
		fi
	   }
	:: d_step {
		phase == REPLAY_INSERT ->
		name = TICK_NAME;
		insert_tick(name, chain_end, snapshot, from, true, found);
		if
		:: found ->
			chain_end = name;
			replay_tick = chain_end;
			first_after(ID(chain_end, 0), found);
			said = (TICK(found) == chain_end -> AGAIN : ONWARD);
			drained = false;
			phase = ANSWER
		:: else -> unplace(); forget_step()
		fi
	   }
	:: d_step {
		phase == ANSWER -> /* relay/answer.lua */
		if
		:: question == position + 1 && reply == NOT_YET ->
			printf("relay %d: to %d-%d the answer is %e %d\n", me, AT(position), said,
			    replay_tick);
			set_question(question, said, replay_tick)
		:: else
		fi;
		forget_step();
		phase = RUN
	   }
	od
}
