-- Read the cached vectors of texts.
-- returns many CachedRow
-- param model TEXT  model and version
-- param hashes_json TEXT  JSON array of BLAKE3 digests, hex
-- column text_hash TEXT  BLAKE3 of the text, hex
-- column vector BLOB  float32 little-endian, L2 = 1
-- column token_count INTEGER  tokens of the text under the model
SELECT lower(hex(v.text_hash)) AS text_hash, v.vector, v.token_count
FROM json_each(:hashes_json) AS wanted
JOIN vectors AS v ON v.text_hash = unhex(wanted.value) AND v.model = :model
ORDER BY v.text_hash;
