SELECT coalesce(extract(epoch FROM clock_timestamp() - oldest_day::timestamp AT TIME ZONE 'UTC')::bigint, 0)
    AS oldest_seconds, partitions, days_ahead, default_rows
FROM intake.retention_health()
