-- The documents among these whose frontmatter says that they were generated (`trust_level: generated`).
-- returns many GeneratedDocument
-- param doc_ids_json TEXT  JSON array of documents
-- column doc_id TEXT  the document
SELECT doc_id
FROM documents
WHERE doc_id IN (SELECT value FROM json_each(:doc_ids_json)) AND trust_level = 'generated'
ORDER BY doc_id;
