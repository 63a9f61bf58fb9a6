-- Announce a vector before it is written to either store. One that is there already keeps its passage version until the
-- new one is committed: only then is it the new one.
-- batch EmbeddingRecord
-- param embedding_id TEXT  id of chunk and model
-- param chunk_id TEXT  the chunk
-- param model_id TEXT  the model
-- param model_version TEXT  version of its weights
-- param dimensions INTEGER  of its vectors
-- param lance_table TEXT  where the vector goes
-- param created_at TEXT  RFC 3339 UTC
-- param chunk_rowid INTEGER  the chunk's number
-- param token_count INTEGER?  tokens of the text under the model
-- param passage_version TEXT  form of the text that is embedded
INSERT INTO embedding_records (
  embedding_id, chunk_id, model_id, model_version, dimensions, lance_table, created_at, chunk_rowid, status,
  token_count, passage_version
) VALUES (
  :embedding_id, :chunk_id, :model_id, :model_version, :dimensions, :lance_table, :created_at, :chunk_rowid,
  'pending', :token_count, :passage_version
)
ON CONFLICT (embedding_id) DO UPDATE SET status = 'pending', token_count = excluded.token_count;
