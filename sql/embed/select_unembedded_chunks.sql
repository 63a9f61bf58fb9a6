-- List chunks, those of source code apart, that have no committed vector under a model, or one of another form of the text, the next ones in the
-- order of their numbers.
-- returns many UnembeddedChunk
-- param model_id TEXT  the model
-- param model_version TEXT  version of its weights
-- param dimensions INTEGER  of its vectors
-- param passage_version TEXT  form of the text that is embedded
-- param after_rowid INTEGER  only chunks after this number; 0 = from the start
-- param row_limit INTEGER  at most so many
-- column chunk_rowid INTEGER  the chunk's number
-- column chunk_id TEXT  the chunk
-- column title TEXT  of its document
-- column heading_path_json TEXT  JSON array of headings, outermost first
-- column text TEXT  piece of the source, as indexed
-- column lang TEXT  language of the text
-- column workspace_path TEXT  of its document
SELECT c.chunk_rowid, c.chunk_id, d.title, c.heading_path_json, coalesce(c.nfc_text, c.text) AS text, c.lang,
  d.workspace_path
FROM chunks AS c
JOIN documents AS d USING (doc_id)
WHERE c.chunk_rowid > :after_rowid AND c.symbol_text IS NULL AND NOT EXISTS (
  SELECT 1 FROM embedding_records AS r
  WHERE r.chunk_id = c.chunk_id AND r.model_id = :model_id AND r.model_version = :model_version
    AND r.dimensions = :dimensions AND r.status = 'committed' AND r.passage_version = :passage_version
)
ORDER BY c.chunk_rowid
LIMIT :row_limit;
