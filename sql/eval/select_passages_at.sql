-- The passages of some documents, with their lines where the document has lines.
-- returns many PassageLines
-- param paths_json TEXT  JSON array of paths
-- column workspace_path TEXT  path below the workspace root
-- column source_path TEXT  absolute path on this machine
-- column doc_id TEXT  the document
-- column chunk_id TEXT  the passage
-- column line_start INTEGER?  from 1; NULL where there are no lines
-- column line_end INTEGER?  the last line
SELECT c.workspace_path, d.source_path, c.doc_id, c.chunk_id, c.line_start, c.line_end
FROM chunk_source AS c
JOIN documents AS d USING (doc_id)
WHERE c.workspace_path IN (SELECT value FROM json_each(:paths_json))
ORDER BY c.workspace_path, c.chunk_rowid;
