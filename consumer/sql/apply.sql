-- Parameters as effects.apply_batch() names them, in its order.  applied NULL: somebody else has moved
-- the cursor.
SELECT * FROM effects.apply_batch($1::text, $2::text, $3::smallint, $4::text, $5::text, $6::regprocedure,
    $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::timestamptz[],
    $14::timestamptz, $15::text[])
