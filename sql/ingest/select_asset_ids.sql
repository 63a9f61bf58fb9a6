-- List all contents, to find copies that nothing refers to.
-- returns many AssetRow
-- column asset_id TEXT  the content
-- column checksum TEXT  BLAKE3 of it, hex
SELECT asset_id, checksum FROM assets ORDER BY asset_id;
