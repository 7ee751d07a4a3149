-- Parameters as intake.reprocess() names them, in its order; times in ms since 1970.
SELECT intake.reprocess($1, $2, $3, $4, $5, $6::smallint, $7,
    timestamptz 'epoch' + $8::bigint * interval '1 ms', $9, $10, $11, $12::boolean, $13::boolean,
    timestamptz 'epoch' + $14::bigint * interval '1 ms', $15, $16::bigint, $17, $18::bigint,
    $19::boolean, $20) AS outcome
