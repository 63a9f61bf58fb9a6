-- List the contents of one folder: its folders with the number of documents below each, then its documents.
-- returns many kb.domain.results.inspection.FolderEntry
-- param prefix TEXT  the folder with a / at its end; empty = the top
-- param row_limit INTEGER  at most so many
-- param row_offset INTEGER  so many are left out first
-- column name TEXT  of the folder or file, without what is above it
-- column documents INTEGER  documents below a folder; 0 for a document
-- column workspace_path TEXT?  path of a document below the workspace root; NULL for a folder
-- column title TEXT?  of a document
-- column media_type TEXT?  of a document
-- column lang TEXT?  of a document
-- column chunk_count INTEGER?  passages of a document
WITH inside AS (
  SELECT d.doc_id, d.workspace_path, substr(d.workspace_path, length(:prefix) + 1) AS rest
  FROM documents AS d
  WHERE d.workspace_path >= :prefix
    -- The character behind / ends the range of what begins with the prefix.
    AND (:prefix = '' OR d.workspace_path < substr(:prefix, 1, length(:prefix) - 1) || '0')
),
listed AS MATERIALIZED (
  SELECT name, documents, doc_id
  FROM (
    SELECT substr(i.rest, 1, instr(i.rest, '/') - 1) AS name, count(*) AS documents, NULL AS doc_id
    FROM inside AS i
    WHERE instr(i.rest, '/') > 0
    GROUP BY name
    UNION ALL
    SELECT i.rest, 0, i.doc_id
    FROM inside AS i
    WHERE instr(i.rest, '/') = 0
  )
  ORDER BY doc_id IS NOT NULL, name
  LIMIT :row_limit OFFSET :row_offset
)
SELECT
  l.name,
  l.documents,
  d.workspace_path,
  d.title,
  a.media_type,
  d.lang,
  iif(l.doc_id IS NULL, NULL, (SELECT count(*) FROM chunks AS c WHERE c.doc_id = l.doc_id)) AS chunk_count
FROM listed AS l
LEFT JOIN documents AS d ON d.doc_id = l.doc_id
LEFT JOIN assets AS a ON a.asset_id = d.asset_id
ORDER BY l.doc_id IS NOT NULL, l.name;
