-- Messages a second, behind the first batch of each shard: that one a new owner applies message by
-- message.  Where there was no more, all of them.
SELECT count(*) / (max(bench.us(i.xid)) / 1e6 - extract(epoch FROM b.at))
FROM effects.inbox AS i, (
	SELECT coalesce(max(s.at), (SELECT min(processed_at) FROM effects.inbox)) AS at
	FROM (SELECT min(processed_at) AS at
	      FROM (SELECT shard, processed_at,
	                row_number() OVER (PARTITION BY shard ORDER BY processed_at) AS place
	            FROM effects.inbox) AS p
	      WHERE place > 256 GROUP BY shard) AS s) AS b
WHERE i.processed_at >= b.at
GROUP BY b.at
