-- List the contents kb keeps copies of, to see that the copies are there.
-- returns many AssetCopy
-- column asset_id TEXT  the content
-- column storage_path TEXT  where its copy should be
-- column byte_len INTEGER  its size
-- column checksum TEXT  BLAKE3 of its bytes
-- column source_uri TEXT  the first file that has it
SELECT asset_id, storage_path, byte_len, checksum, source_uri FROM assets WHERE storage_kind = 'copied' ORDER BY asset_id;
