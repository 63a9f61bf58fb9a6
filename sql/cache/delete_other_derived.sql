-- Keep of the cache what was derived from some contents alone.
-- param hashes_json TEXT  JSON array of BLAKE3 digests, hex
DELETE FROM derived
WHERE content_hash NOT IN (SELECT value FROM json_each(:hashes_json));
