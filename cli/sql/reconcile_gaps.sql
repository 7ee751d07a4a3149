-- Where streams went on behind rows that were no longer retained.
-- $1 forget them from now on
WITH gone AS (
	DELETE FROM intake.gap WHERE $1::boolean
)
SELECT coalesce(json_agg(json_build_object('shard', shard,
    'after', after_tick || '-' || after_id, 'oldest_tick', tick,
    'at', to_char(at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
    ORDER BY shard, after_tick), '[]') AS gaps
FROM intake.gap
