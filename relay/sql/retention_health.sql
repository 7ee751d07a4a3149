-- For metrics and the log; the age of the oldest partition is counted from its first moment.
SELECT coalesce(extract(epoch FROM clock_timestamp() - oldest_day::timestamp AT TIME ZONE 'UTC')::bigint, 0)
    AS oldest_seconds, partitions, days_ahead, default_rows
FROM intake.retention_health()
