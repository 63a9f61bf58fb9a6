-- Store the last commit of a document's file.
-- param doc_id TEXT  the document
-- param committed_at TEXT?  RFC 3339 UTC; '' = git knows none
-- param committed_by TEXT?  its author
UPDATE documents SET committed_at = :committed_at, committed_by = :committed_by WHERE doc_id = :doc_id;
