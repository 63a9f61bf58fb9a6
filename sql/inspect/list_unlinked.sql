-- List the notes that link to nothing.
-- returns many kb.domain.results.viewing.PathRow
-- param row_limit INTEGER  at most so many
-- column workspace_path TEXT  path below the workspace root
-- column title TEXT  as it is shown
SELECT d.workspace_path, coalesce(d.title, d.workspace_path) AS title
FROM documents AS d
JOIN assets AS a USING (asset_id)
WHERE a.media_type = 'markdown'
  AND NOT EXISTS (
    SELECT 1 FROM blocks AS b WHERE b.doc_id = d.doc_id AND json_array_length(b.payload_json, '$.links') > 0
  )
ORDER BY d.workspace_path
LIMIT :row_limit;
