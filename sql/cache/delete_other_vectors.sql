-- Keep only the cached vectors of some texts.
-- param hashes_json TEXT  JSON array of BLAKE3 digests, hex
DELETE FROM vectors
WHERE text_hash NOT IN (SELECT unhex(value) FROM json_each(:hashes_json));
