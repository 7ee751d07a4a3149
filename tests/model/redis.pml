/*
 * redis.pml - one shard's stream, the consumer's group and the hash of replays.  Each inline is one
 * command, one script or one MULTI: Redis runs it at once.
 */
byte entry_id[MAX_ENTRIES];
byte entry_row[MAX_ENTRIES]; /* the message; 0: none of ours */
byte entries;
byte last_id; /* last-generated-id */
byte newest;  /* the last message among the entries; 0: there is none */
bit has_group;
byte bookmark; /* the group's last-delivered-id */

/* ask:<consumer> or answer:<consumer>; whoever sets one removes the other. */
mtype:reply = { NOT_YET, NONE, AGAIN, ONWARD, START };
byte question;   /* of which cursor, + 1; 0: there is neither */
mtype:reply reply;
byte reply_tick; /* of AGAIN and ONWARD: go on from <tick>-0 */

byte server;   /* which one is the master: a failover cuts every connection */

/* What was ever published, and for each row the first ID under which it was. */
byte published;
byte first_id[ROWS + 1];

hidden byte e, shift;

/* XADD with an explicit ID, which Redis refuses unless it is above the last one. */
inline xadd(id, of_row)
{
	assert(id > last_id);
	assert(entries < MAX_ENTRIES);
	entry_id[entries] = id;
	entry_row[entries] = of_row;
	entries++;
	last_id = id;
	newest = (of_row -> id : newest);
	printf("stream: + %d-%d, row %d\n", AT(id), of_row)
}

/* The first entry behind a position: its index, or entries. */
inline find_behind(position, ret)
{
	ret = 0;
	do
	:: ret < entries && entry_id[ret] <= position -> ret++
	:: else -> break
	od
}

#if MAX_ENTRIES != 8
#error STANDS and TICK_COMES name every entry
#endif

/* Whether there is an entry at this position, which is not 0-0. */
#define IS(e, id) (entry_id[e] == (id))
#define STANDS(id)                                                                                 \
	(IS(0, id) || IS(1, id) || IS(2, id) || IS(3, id) || IS(4, id) || IS(5, id) ||             \
	    IS(6, id) || IS(7, id))

/* Whether the first entry behind <tick>-0 is a message of that tick. */
#define OPENS(e, id)                                                                               \
	(entry_row[e] && TICK(entry_id[e]) == TICK(id) && ((e) == 0 || entry_id[(e)-1] <= (id)))
#define TICK_COMES(id)                                                                             \
	(OPENS(0, id) || OPENS(1, id) || OPENS(2, id) || OPENS(3, id) || OPENS(4, id) ||           \
	    OPENS(5, id) || OPENS(6, id) || OPENS(7, id))

inline set_question(about, with_reply, with_tick)
{
	question = about;
	reply = with_reply;
	reply_tick = with_tick
}

inline find_newest()
{
	e = entries;
	do
	:: e && entry_row[e - 1] == 0 -> e--
	:: else -> break
	od;
	newest = (e -> entry_id[e - 1] : 0)
}

inline drop_first(n)
{
	for (e : 0 .. MAX_ENTRIES - 1) {
		if
		:: e + n < entries ->
			entry_id[e] = entry_id[e + n];
			entry_row[e] = entry_row[e + n]
		:: else -> entry_id[e] = 0; entry_row[e] = 0
		fi
	}
	entries = entries - n;
	find_newest()
}

inline drop_last()
{
	entries--;
	entry_id[entries] = 0;
	entry_row[entries] = 0;
	find_newest()
}

/* XTRIM MINID = keep, of relay/trim.lua. */
inline xtrim(keep)
{
	shift = 0;
	do
	:: shift < entries && entry_id[shift] < keep -> shift++
	:: else -> break
	od;
	if
	:: shift -> drop_first(shift); printf("stream: trimmed to %d-%d\n", AT(entry_id[0]))
	:: else
	fi
}

/* XGROUP SETID */
inline set_bookmark(to)
{
	if
	:: has_group -> bookmark = to; printf("bookmark: %d-%d\n", AT(to))
	:: else
	fi
}

inline flush()
{
	do
	:: entries -> drop_last()
	:: else -> break
	od;
	last_id = 0;
	has_group = false;
	bookmark = 0;
	set_question(0, NOT_YET, 0);
	printf("stream: flushed\n")
}
