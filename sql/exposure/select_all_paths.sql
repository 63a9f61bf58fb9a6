-- List the paths of all documents, whether they are hidden or not.
-- returns many DocumentPath
-- column doc_id TEXT  the document
-- column workspace_path TEXT  path below the workspace root
-- column source TEXT  the source that it is of
SELECT doc_id, workspace_path, source
FROM main.documents
ORDER BY workspace_path;
