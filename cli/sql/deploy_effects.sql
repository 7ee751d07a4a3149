-- Once.  $1: number of shards, that of intake.
INSERT INTO effects.setting (shards) VALUES ($1::smallint) ON CONFLICT (only_row) DO NOTHING
