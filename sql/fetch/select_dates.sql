-- Read when documents were last changed, as they say themselves or as their files do.
-- returns many DocumentDate
-- param doc_ids_json TEXT  JSON array of document ids
-- column doc_id TEXT  the document
-- column updated_at TEXT  RFC 3339
SELECT doc_id, updated_at
FROM documents
WHERE doc_id IN (SELECT value FROM json_each(:doc_ids_json))
ORDER BY doc_id;
