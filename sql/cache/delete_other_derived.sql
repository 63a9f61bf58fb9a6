-- Keep only the cached results derived from some contents.
-- param hashes_json TEXT  JSON array of BLAKE3 digests, hex
DELETE FROM derived
WHERE content_hash NOT IN (SELECT value FROM json_each(:hashes_json));
