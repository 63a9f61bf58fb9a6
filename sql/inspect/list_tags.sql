-- Count the documents of each tag, the most used first.
-- returns many CountedTag
-- param doc_ids_json TEXT?  JSON array of documents, from select_eligible_documents; NULL = any
-- param row_limit INTEGER  at most so many
-- param row_offset INTEGER  so many are left out first
-- column name TEXT  the tag
-- column documents INTEGER  documents with it
SELECT t.tag AS name, count(*) AS documents
FROM document_tags AS t
JOIN documents AS d USING (doc_id)
WHERE :doc_ids_json IS NULL OR t.doc_id IN (SELECT value FROM json_each(:doc_ids_json))
GROUP BY t.tag
ORDER BY documents DESC, t.tag
LIMIT :row_limit OFFSET :row_offset;
