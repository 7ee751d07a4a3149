-- A deployment of which nobody has made use yet.
TRUNCATE intake.notification, intake.purchase, intake.outbox, intake.tick, intake.stream_group,
    intake.instance, effects.inbox, effects.cursor, effects.parked, effects.entitlement, effects.ledger,
    effects.instance, witness.answered, witness.entry, witness.effect, bench.sent, bench.arrived;
UPDATE intake.shard_lease SET holder = NULL, expires_at = NULL;
DELETE FROM effects.shard_lease;
