-- Remember that cached vectors were used, so that the least used go first.
-- param model TEXT  model and version
-- param hashes_json TEXT  JSON array of BLAKE3 digests, hex
-- param used_at INTEGER  seconds since 1970
UPDATE vectors SET used_at = :used_at
WHERE model = :model AND used_at < :used_at AND text_hash IN (SELECT unhex(value) FROM json_each(:hashes_json));
