-- What README.md's handler must have been given, and what its grants must then say.
ALTER TABLE shop.grants ADD CHECK (product IS NOT NULL),
	ADD CHECK (account IS NOT NULL OR store = 'google_play'),
	ADD CHECK (until IS NOT NULL OR store <> 'app_store');

-- An effect is a notification whose purchase the grants have as the producer does.
CREATE VIEW shop.told AS
SELECT n.store AS source, n.notification_id AS message_id,
	(n.store_purchase_id IS NULL OR EXISTS (SELECT FROM shop.grants AS g
	    JOIN intake.purchase AS p ON p.store = g.store AND p.store_purchase_id = g.purchase
	    WHERE g.store = n.store AND g.purchase = n.store_purchase_id
	      AND (g.account, g.product, g.active, g.until) IS NOT DISTINCT FROM
	          (p.account_ref, p.product_id, p.state IN ('active', 'grace'), p.expires_at)))::integer AS effects
FROM intake.notification AS n;
