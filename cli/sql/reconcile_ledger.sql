-- One page of the ledger: entries that were not written in the transaction that applied their message.
-- $1 only entries above this  $2 so many at most
-- A message of which no inbox row is left proves nothing.
SELECT count(*) AS rows, max(entry) AS last,
    count(*) FILTER (WHERE applied AND NOT together) AS doubled
FROM (SELECT l.entry, count(i.message_id) > 0 AS applied,
          coalesce(bool_or(i.xid = l.xid), false) AS together
      FROM (SELECT entry, source, message_id, xid FROM effects.ledger
            WHERE entry > $1 ORDER BY entry LIMIT $2) AS l
      CROSS JOIN (SELECT DISTINCT consumer FROM effects.cursor) AS c
      LEFT JOIN effects.inbox AS i ON i.consumer = c.consumer AND i.source = l.source
          AND i.message_id = l.message_id
      GROUP BY l.entry) AS checked
