-- Consumers that there are, or were, and what effects holds of each.
-- $1 only this one, with the size of its inbox, or NULL for all
SELECT k.consumer,
    (SELECT count(*) FROM effects.cursor AS c WHERE c.consumer = k.consumer) AS cursors,
    (SELECT count(*) FROM effects.instance AS i
     WHERE i.consumer = k.consumer AND i.expires_at > clock_timestamp()) AS instances,
    (SELECT count(*) FROM effects.parked AS p WHERE p.consumer = k.consumer) AS parked,
    (SELECT to_char(max(l.at), 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
     FROM effects.cursor AS c
     CROSS JOIN LATERAL (SELECT max(processed_at) AS at FROM effects.inbox AS i
         WHERE i.consumer = c.consumer AND i.shard = c.shard) AS l
     WHERE c.consumer = k.consumer) AS last_at,
    CASE WHEN $1::text IS NOT NULL
         THEN (SELECT count(*) FROM effects.inbox AS i WHERE i.consumer = k.consumer) END AS inbox,
    effects.forget_obstacle(k.consumer) AS obstacle
FROM (SELECT consumer FROM effects.cursor
      UNION SELECT consumer FROM effects.shard_lease
      UNION SELECT consumer FROM effects.instance
      UNION SELECT consumer FROM effects.parked) AS k
WHERE k.consumer = coalesce($1, k.consumer)
ORDER BY k.consumer
