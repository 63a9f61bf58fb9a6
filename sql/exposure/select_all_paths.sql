-- List the paths of all documents, whether they are hidden or not.
-- returns many DocumentPath
-- column doc_id TEXT  the document
-- column workspace_path TEXT  path below the workspace root
SELECT doc_id, workspace_path
FROM main.documents
ORDER BY workspace_path;
