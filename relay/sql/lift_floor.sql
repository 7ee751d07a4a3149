-- Writes setting.
UPDATE intake.setting SET xid_floor = pg_snapshot_xmin(intake.current_snapshot())
WHERE xid_floor < pg_snapshot_xmin(intake.current_snapshot())
