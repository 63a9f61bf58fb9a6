-- Forget a content that no document has any more.
-- version 1
-- param asset_id TEXT  the content
DELETE FROM assets
WHERE asset_id = :asset_id AND NOT EXISTS (SELECT 1 FROM documents AS d WHERE d.asset_id = assets.asset_id);
