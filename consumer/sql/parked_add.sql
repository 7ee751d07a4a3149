-- Parameters as effects.park() names them, in its order.  No row: somebody else has moved the cursor.
SELECT moved
FROM effects.park($1, $2::smallint, $3, $4, $5, $6, $7, $8, $9, $10::timestamptz, $11::timestamptz,
    $12, $13, $14::integer, $15::float8, $16, $17) AS moved
WHERE moved
