-- List the contents kb keeps copies of, to see that the copies are there.
-- version 1
-- column asset_id TEXT  the content
-- column storage_path TEXT  where its copy should be
-- column byte_len INTEGER  its size
SELECT asset_id, storage_path, byte_len FROM assets WHERE storage_kind = 'copied' ORDER BY asset_id;
