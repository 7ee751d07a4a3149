-- How many messages were applied in each tenth of a second since the first one.
SELECT count(i.at)
FROM (SELECT floor(extract(epoch FROM processed_at) * 10)::bigint AS at FROM effects.inbox) AS i
RIGHT JOIN (SELECT generate_series(floor(extract(epoch FROM min(processed_at)) * 10)::bigint,
    floor(extract(epoch FROM max(processed_at)) * 10)::bigint) AS at FROM effects.inbox) AS t USING (at)
GROUP BY at ORDER BY at
