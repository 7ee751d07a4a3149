-- A consumer that has not begun yet.
TRUNCATE effects.inbox, effects.cursor, effects.parked, effects.entitlement, effects.ledger,
    effects.instance;
DELETE FROM effects.shard_lease
