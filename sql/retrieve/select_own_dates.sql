-- Read the own dates of documents: of the frontmatter, else of the name, else when the file was changed.
-- returns many OwnDate
-- param doc_ids_json TEXT  JSON array of document ids
-- column doc_id TEXT  the document
-- column day TEXT  a day, or a time in UTC
SELECT doc_id, value AS day
FROM document_properties
WHERE name = 'date' AND doc_id IN (SELECT value FROM json_each(:doc_ids_json))
ORDER BY doc_id;
