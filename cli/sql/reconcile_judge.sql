-- What is to be thought of rows that were neither applied nor parked.
-- $1 the missing  $2 list so many of the lost at most
-- An ID beyond our numbers is foreign, and comes after every position of ours.
WITH missing AS (
	SELECT m.*, o.xid,
	    least(split_part(m.cursor, '-', 1)::numeric, 9223372036854775807)::bigint AS cursor_tick,
	    least(split_part(m.cursor, '-', 2)::numeric, 9223372036854775807)::bigint AS cursor_id,
	    least(split_part(m.purge_floor, '-', 1)::numeric, 9223372036854775807)::bigint AS floor_tick,
	    least(split_part(m.purge_floor, '-', 2)::numeric, 9223372036854775807)::bigint AS floor_id
	FROM json_to_recordset($1::json) AS m(id bigint, source text, message_id text, subject text,
	    shard smallint, created_at timestamptz, cursor text, purge_floor text, early boolean)
	LEFT JOIN intake.outbox AS o ON o.id = m.id
), judged AS (
	SELECT m.*, CASE
	    WHEN xid IS NULL THEN 'unretained'
	    WHEN intake.stands_after(shard, id, xid, cursor_tick, cursor_id) THEN 'waiting'
	    WHEN purge_floor IS NOT NULL
	        AND NOT intake.stands_after(shard, id, xid, floor_tick, floor_id) THEN 'purged'
	    WHEN EXISTS (SELECT FROM (SELECT previous_tick, snapshot FROM intake.tick AS t
	        WHERE t.shard = m.shard ORDER BY tick LIMIT 1) AS oldest
	        WHERE previous_tick <> 0 AND pg_visible_in_snapshot(xid, snapshot)) THEN 'unretained'
	    WHEN early THEN 'early'
	    ELSE 'lost' END AS fate
	FROM missing AS m
)
SELECT count(*) FILTER (WHERE fate = 'waiting') AS waiting,
    count(*) FILTER (WHERE fate = 'purged') AS purged,
    count(*) FILTER (WHERE fate = 'unretained') AS unretained,
    count(*) FILTER (WHERE fate = 'early') AS early,
    count(*) FILTER (WHERE fate = 'lost') AS lost,
    (SELECT json_agg(l) FROM (SELECT source, message_id, subject, shard, id AS outbox_id,
         to_char(created_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at FROM judged WHERE fate = 'lost' ORDER BY id LIMIT $2) AS l) AS lost_rows
FROM judged
