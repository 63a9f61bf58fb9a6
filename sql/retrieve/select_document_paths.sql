-- List all documents with their paths, for path globs.
-- version 1
-- column doc_id TEXT  the document
-- column workspace_path TEXT  path below the workspace root
SELECT doc_id, workspace_path FROM documents ORDER BY workspace_path;
