-- Read the stored document at one path.
-- returns one StoredDocument
-- param workspace_path TEXT  path below the workspace root
-- column doc_id TEXT  the document
-- column asset_id TEXT  its content
-- column doc_version INTEGER  how often it was indexed with changed content
-- column created_at TEXT  RFC 3339
-- column pipeline_version TEXT  versions it was made with
-- column committed_at TEXT?  RFC 3339 UTC, when its file was last committed; '' = git knows none; NULL = not asked yet
-- column committed_by TEXT?  by whom
SELECT doc_id, asset_id, doc_version, created_at, pipeline_version, committed_at, committed_by
FROM documents
WHERE workspace_path = :workspace_path;
