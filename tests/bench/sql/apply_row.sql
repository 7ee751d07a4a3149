INSERT INTO bench.apply VALUES ($16::integer, $17::integer, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10,
    $11, $12, $13, $14, $15)
