-- List the documents in some folders with the commits known of their files.
-- returns many DocumentCommit
-- param folders_json TEXT  JSON array of absolute paths, each with a slash behind it
-- column doc_id TEXT  the document
-- column source_path TEXT  absolute path on this machine
-- column committed_at TEXT?  RFC 3339 UTC; '' = none; NULL = not asked yet
-- column committed_by TEXT?  its author
SELECT doc_id, source_path, committed_at, committed_by
FROM documents
WHERE rtrim(source_path, replace(source_path, '/', '')) IN (SELECT value FROM json_each(:folders_json))
ORDER BY doc_id;
