-- Read what tells one state of the documents that a connection sees from another.
-- version 1
-- column doc_id TEXT  the document
-- column doc_version INTEGER  counts its changes
-- column updated_at TEXT  RFC 3339 UTC
-- column pipeline_version TEXT  what made its chunks
SELECT doc_id, doc_version, updated_at, pipeline_version
FROM documents
ORDER BY doc_id;
