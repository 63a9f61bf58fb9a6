-- List chunks with a committed vector under the primary model, in the order of their ids.
-- returns many CommittedChunk
-- param after_id TEXT  only ids above; '' = from the start
-- param row_limit INTEGER  at most so many
-- column chunk_id TEXT  the chunk
-- column lang TEXT  language of the chunk's text
SELECT c.chunk_id, c.lang
FROM embedding_slots AS s
CROSS JOIN embedding_records AS r USING (model_id, model_version, dimensions)
CROSS JOIN chunks AS c ON c.chunk_rowid = r.chunk_rowid
WHERE s.slot = 'primary' AND r.status = 'committed' AND c.chunk_id > :after_id
ORDER BY c.chunk_id
LIMIT :row_limit;
