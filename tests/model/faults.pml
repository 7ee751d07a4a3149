/*
 * faults.pml - what happens to the stores and the network, a bounded number of times and at any
 * moment.  Crashes are in the processes themselves.
 */

/* Redis comes back without its last entry, as a replica that lagged does; repeated, without more. */
inline lose_last()
{
	drop_last();
	last_id = entry_id[entries - 1];
	bookmark = MIN(bookmark, last_id)
}

#ifdef RETURNS
/* What Redis held before it lost its end: the old master. */
typedef copy {
	byte id[MAX_ENTRIES], row[MAX_ENTRIES], n;
	bit has_group;
	byte bookmark, question;
	mtype:reply reply;
	byte reply_tick
}

inline take_copy()
{
	for (e : 0 .. MAX_ENTRIES - 1) {
		copied.id[e] = entry_id[e];
		copied.row[e] = entry_row[e]
	}
	copied.n = entries;
	copied.has_group = has_group;
	copied.bookmark = bookmark;
	copied.question = question;
	copied.reply = reply;
	copied.reply_tick = reply_tick
}

inline bring_back()
{
	for (e : 0 .. MAX_ENTRIES - 1) {
		entry_id[e] = copied.id[e];
		entry_row[e] = copied.row[e];
		copied.id[e] = 0;
		copied.row[e] = 0
	}
	entries = copied.n;
	copied.n = 0;
	last_id = entry_id[entries - 1];
	has_group = copied.has_group;
	bookmark = copied.bookmark;
	set_question(copied.question, copied.reply, copied.reply_tick);
	find_newest();
	copied.has_group = 0;
	copied.bookmark = 0;
	copied.question = 0;
	copied.reply = NOT_YET;
	copied.reply_tick = 0;
	printf("stream: as it was, %d-%d to %d-%d\n", AT(entry_id[0]), AT(last_id))
}
#endif

proctype faults()
{
	byte losses = LOSSES, flushes = FLUSHES, foreign = FOREIGN;
#if RESTORES
	byte restores = RESTORES;
	bit saved; /* once; before that the save is the beginning */
	byte saved_cursor, saved_inbox, saved_applied;
#endif
#ifdef RETURNS
	copy copied;
	bit returned;
#endif
#if LOSSES
	byte lost;
#endif
#ifdef LATE_BOOKMARK
	byte late; /* ROWS + 1, which is no position: it was */
#endif

	do
	:: over = true; break
#if LOSSES
	:: atomic {
			losses && entries > 1 ->
			losses--;
			lost = 1;
			do
			:: lost < entries - 1 -> lost++
			:: break
			od;
			d_step {
#ifdef RETURNS
				take_copy();
#endif
				do
				:: lost -> lose_last(); lost--
				:: else -> break
				od;
				server++;
				printf("stream: lost what was after %d-%d\n", AT(last_id))
			}
		}
#endif
#if FLUSHES
	:: d_step { flushes && last_id -> flushes--; flush() }
#endif
#ifdef RETURNS
	:: d_step { !returned && copied.n -> returned = true; bring_back(); server++ }
#endif
#if FOREIGN
	/* XADD *, in the millisecond of the last entry or later */
	:: d_step { foreign && SEQ(last_id) < ROWS && last_id -> foreign--; e = last_id + 1; xadd(e, 0) }
	:: d_step { foreign -> foreign--; e = ID(TICK(last_id) + 1, 0); xadd(e, 0) }
	:: d_step { foreign -> foreign--; e = ID(TICK(last_id) + 2, 0); xadd(e, 0) }
#endif
#ifdef LATE_BOOKMARK
	/* A former owner tells how far it has got, long after. */
	:: d_step { !late && cursor -> late = cursor }
	:: d_step {
		late && late != ROWS + 1 && has_group ->
		printf("a late bookmark\n");
		set_bookmark(late);
		late = ROWS + 1
	   }
#endif
#if RESTORES
	:: d_step {
		restores && !saved && cursor ->
		saved = true;
		saved_cursor = cursor;
		saved_inbox = inbox;
		saved_applied = applied
	   }
	:: d_step {
		restores && applied != saved_applied ->
		restores--;
		effects_server++;
		cursor = saved_cursor;
		inbox = saved_inbox;
		applied = saved_applied;
		printf("effects: back to cursor %d-%d, rows %d\n", AT(cursor), applied);
		saved_cursor = 0;
		saved_inbox = 0;
		saved_applied = 0
	   }
#endif
	od
}
