-- Read the fields by which two states of the documents that a connection sees differ.
-- returns many ShownState
-- column doc_id TEXT  the document
-- column asset_id TEXT  its content
-- column workspace_path TEXT  path below the workspace root
-- column doc_version INTEGER  counts its changes
-- column updated_at TEXT  RFC 3339 UTC
-- column pipeline_version TEXT  what made its chunks
SELECT doc_id, asset_id, workspace_path, doc_version, updated_at, pipeline_version
FROM documents
ORDER BY doc_id;
