-- List all contents, to find copies that nothing refers to.
-- version 1
-- column asset_id TEXT  the content
SELECT asset_id FROM assets ORDER BY asset_id;
