-- Store a vector for the next time its text is embedded.
-- batch CacheInsert
-- param text_hash BLOB  BLAKE3 of the text
-- param model TEXT  model and version
-- param vector BLOB  float32 little-endian, L2 = 1
-- param token_count INTEGER  tokens of the text under the model
-- param used_at INTEGER  seconds since 1970
INSERT INTO vectors (text_hash, model, vector, token_count, used_at)
VALUES (:text_hash, :model, :vector, :token_count, :used_at)
ON CONFLICT (text_hash, model) DO UPDATE SET
  vector = excluded.vector, token_count = excluded.token_count, used_at = excluded.used_at;
