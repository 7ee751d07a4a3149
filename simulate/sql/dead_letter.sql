-- What the consumer has given up, so that it is not taken for lost.

CREATE VIEW witness.dead_letter AS
SELECT source, message_id, state, error, place
FROM effects.parked
WHERE state = 'failed' OR (state = 'held' AND (consumer, subject) IN (
	SELECT consumer, subject FROM effects.parked WHERE state = 'failed'));
COMMENT ON VIEW witness.dead_letter IS 'Messages that failed, and those held behind one: only an operator moves them';

CREATE VIEW witness.lost AS
SELECT a.store AS source, a.notification_id AS message_id
FROM witness.answered AS a
WHERE NOT EXISTS (SELECT FROM witness.counted() AS c
	WHERE c.source = a.store AND c.message_id = a.notification_id AND c.effects > 0)
  AND NOT EXISTS (SELECT FROM witness.dead_letter AS d
	WHERE d.source = a.store AND d.message_id = a.notification_id);
COMMENT ON VIEW witness.lost IS 'What was answered with 200 and has neither an effect nor a dead letter';
