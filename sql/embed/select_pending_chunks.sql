-- List chunks whose vector was announced and not committed, the next ones in the order of their numbers.
-- returns many PendingChunk
-- param after_rowid INTEGER  only numbers above; 0 = from the start
-- param row_limit INTEGER  at most so many
-- column chunk_rowid INTEGER  the chunk's number
-- column chunk_id TEXT  the chunk
-- column lang TEXT  language of its text
SELECT c.chunk_rowid, c.chunk_id, c.lang
FROM embedding_slots AS s
JOIN embedding_records AS r
  ON r.model_id = s.model_id AND r.model_version = s.model_version AND r.dimensions = s.dimensions
JOIN chunks AS c USING (chunk_id)
WHERE s.slot = 'primary' AND r.status = 'pending' AND c.chunk_rowid > :after_rowid
ORDER BY c.chunk_rowid
LIMIT :row_limit;
