-- The passages of some documents, with their lines where the document has lines.
-- version 1
-- param paths_json TEXT  JSON array of paths
-- column workspace_path TEXT  path below the workspace root
-- column doc_id TEXT  the document
-- column chunk_id TEXT  the passage
-- column line_start INTEGER?  from 1; NULL where there are no lines
-- column line_end INTEGER?  the last line
SELECT workspace_path, doc_id, chunk_id, line_start, line_end
FROM chunk_source
WHERE workspace_path IN (SELECT value FROM json_each(:paths_json))
ORDER BY workspace_path, chunk_rowid;
