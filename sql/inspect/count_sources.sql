-- Count the documents of each source.
-- returns many CountedSource
-- param doc_ids_json TEXT?  JSON array of documents, from select_eligible_documents; NULL = any
-- column name TEXT  the source
-- column documents INTEGER  documents of it
-- column updated_at TEXT  when the last of them was changed
SELECT source AS name, count(*) AS documents, max(updated_at) AS updated_at
FROM documents
WHERE :doc_ids_json IS NULL OR doc_id IN (SELECT value FROM json_each(:doc_ids_json))
GROUP BY source
ORDER BY source;
