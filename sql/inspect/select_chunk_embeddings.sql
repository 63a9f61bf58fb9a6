-- Read the vectors that one chunk has in both stores.
-- returns many kb.domain.results.inspection.ChunkEmbedding
-- param chunk_id TEXT  the chunk
-- column embedding_id TEXT  the vector
-- column model_id TEXT  the model that made it
-- column model_version TEXT  version of its weights
-- column dimensions INTEGER  of the vector
-- column token_count INTEGER?  tokens the model saw
-- column slot TEXT?  primary or secondary where searches use it
SELECT r.embedding_id, r.model_id, r.model_version, r.dimensions, r.token_count, s.slot
FROM embedding_records AS r
LEFT JOIN embedding_slots AS s
  ON s.model_id = r.model_id AND s.model_version = r.model_version AND s.dimensions = r.dimensions
WHERE r.chunk_id = :chunk_id AND r.status = 'committed'
ORDER BY s.slot IS NULL, s.slot, r.embedding_id;
