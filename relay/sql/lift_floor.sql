-- Writes setting.
UPDATE intake.setting SET xid_floor = pg_snapshot_xmin(pg_current_snapshot())
WHERE xid_floor < pg_snapshot_xmin(pg_current_snapshot())
