-- Read each vector of the mirror with the model that made it, in the order of the chunks' ids.
-- returns each ProofVector
-- column chunk_id TEXT  the chunk
-- column model_id TEXT  the model
-- column model_version TEXT  version of its weights
-- column embedding BLOB  float32 little-endian, L2 = 1
SELECT c.chunk_id, s.model_id, s.model_version, v.embedding
FROM chunks AS c
CROSS JOIN embedding_slots AS s ON s.slot = 'primary'
CROSS JOIN vec_primary AS v ON v.chunk_rowid = c.chunk_rowid
ORDER BY c.chunk_id;
