-- Read the stored document at one path.
-- returns one StoredDocument
-- param workspace_path TEXT  path below the workspace root
-- column doc_id TEXT  the document
-- column asset_id TEXT  its content
-- column doc_version INTEGER  how often it was indexed with changed content
-- column created_at TEXT  RFC 3339
-- column pipeline_version TEXT  versions it was made with
SELECT doc_id, asset_id, doc_version, created_at, pipeline_version FROM documents WHERE workspace_path = :workspace_path;
