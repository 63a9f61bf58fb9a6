-- List the documents of which passages have no vector under the primary model in use, those with most first.
-- returns many kb.domain.results.viewing.UnembeddedRow
-- param row_limit INTEGER  at most so many
-- column workspace_path TEXT  path below the workspace root
-- column title TEXT  as it is shown
-- column chunks INTEGER  its passages that are embedded at all
-- column missing INTEGER  those without a vector
WITH embedded AS MATERIALIZED (
  SELECT r.chunk_rowid
  FROM embedding_slots AS s
  CROSS JOIN embedding_records AS r
    ON r.model_id = s.model_id AND r.model_version = s.model_version AND r.dimensions = s.dimensions
    AND r.status = 'committed'
  WHERE s.slot = 'primary'
),
documents_missing AS (
  SELECT c.doc_id, count(*) AS chunks, sum(c.chunk_rowid NOT IN (SELECT e.chunk_rowid FROM embedded AS e)) AS missing
  FROM chunks AS c
  WHERE c.symbol_text IS NULL AND EXISTS (SELECT 1 FROM embedding_slots AS s WHERE s.slot = 'primary')
  GROUP BY c.doc_id
)
SELECT d.workspace_path, coalesce(d.title, d.workspace_path) AS title, m.chunks, m.missing
FROM documents_missing AS m
JOIN documents AS d USING (doc_id)
WHERE m.missing > 0
ORDER BY m.missing DESC, d.workspace_path
LIMIT :row_limit;
