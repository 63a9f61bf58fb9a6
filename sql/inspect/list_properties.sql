-- Count the documents of each frontmatter key that means nothing to kb itself, the most used first, with an example.
-- returns many CountedProperty
-- param doc_ids_json TEXT?  JSON array of documents, from select_eligible_documents; NULL = any
-- param row_limit INTEGER  at most so many
-- param row_offset INTEGER  so many are left out first
-- column name TEXT  the key
-- column documents INTEGER  documents with it
-- column example TEXT?  the value in the first of them
SELECT u.key AS name, count(*) AS documents, CAST(min(u.value) AS TEXT) AS example
FROM documents AS d
JOIN json_each(d.metadata_json, '$.user') AS u
WHERE :doc_ids_json IS NULL OR d.doc_id IN (SELECT value FROM json_each(:doc_ids_json))
GROUP BY u.key
ORDER BY documents DESC, u.key
LIMIT :row_limit OFFSET :row_offset;
