-- Count the passages of each document that hold a word of a question.
-- returns many DocumentMatches
-- param match_expr TEXT  FTS5 expression for notes and source code alike
-- param in_code INTEGER  1 where source code is counted too
-- param doc_ids_json TEXT?  JSON array of documents, from select_eligible_documents; NULL = any
-- param passages_json TEXT?  JSON array of their chunk_rowids that may be found, from select_passages_like; NULL = all of theirs
-- param row_limit INTEGER  at most so many passages of notes, and of source code, are looked at
-- column doc_id TEXT  the document
-- column passages INTEGER  how many hold one
WITH eligible AS (
  SELECT chunk_rowid
  FROM chunks
  WHERE doc_id IN (SELECT value FROM json_each(:doc_ids_json))
    AND (:passages_json IS NULL OR chunk_rowid IN (SELECT value FROM json_each(:passages_json)))
), matching_notes AS (
  SELECT f.rowid AS chunk_rowid
  FROM chunks_fts AS f
  WHERE chunks_fts MATCH :match_expr
    AND (:doc_ids_json IS NULL OR +f.rowid IN (SELECT e.chunk_rowid FROM eligible AS e))
  LIMIT :row_limit
), matching_code AS (
  SELECT f.rowid AS chunk_rowid
  FROM code_fts AS f
  WHERE :in_code
    AND code_fts MATCH :match_expr
    AND (:doc_ids_json IS NULL OR +f.rowid IN (SELECT e.chunk_rowid FROM eligible AS e))
  LIMIT :row_limit
), matching AS (
  SELECT chunk_rowid FROM matching_notes
  UNION ALL
  SELECT chunk_rowid FROM matching_code
)
SELECT c.doc_id, count(*) AS passages
FROM matching AS m
JOIN chunks AS c USING (chunk_rowid)
GROUP BY c.doc_id
ORDER BY c.doc_id;
