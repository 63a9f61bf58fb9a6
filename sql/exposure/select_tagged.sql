-- List the documents with any of the tags, whether they are hidden or not.
-- returns many DocumentId
-- param tags_json TEXT  JSON array of tags
-- column doc_id TEXT  the document
SELECT DISTINCT doc_id
FROM main.document_tags
WHERE tag IN (SELECT value FROM json_each(:tags_json))
ORDER BY doc_id;
