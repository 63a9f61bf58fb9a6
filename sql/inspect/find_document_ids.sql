-- Find documents by a prefix of the id or by the exact path.
-- returns many FoundId
-- param prefix TEXT  hex digits, or a path below the workspace root
-- column id TEXT  the document
-- column label TEXT  its path
SELECT doc_id AS id, workspace_path AS label
FROM documents
WHERE (doc_id >= :prefix AND doc_id < :prefix || 'g') OR workspace_path = :prefix
ORDER BY doc_id
LIMIT 6;
