-- Count the documents of each property, the most used first and kb's own last, with an example.
-- returns many CountedProperty
-- param doc_ids_json TEXT?  JSON array of documents, from select_eligible_documents; NULL = any
-- param row_limit INTEGER  at most so many
-- param row_offset INTEGER  so many are left out first
-- column name TEXT  the property
-- column documents INTEGER  documents with it
-- column example TEXT  its first value
SELECT name, count(DISTINCT doc_id) AS documents,
  min(iif(value LIKE '%.______Z', date(value, 'localtime'), value)) AS example
FROM document_properties
WHERE :doc_ids_json IS NULL OR doc_id IN (SELECT value FROM json_each(:doc_ids_json))
GROUP BY name
ORDER BY name IN ('date', 'created', 'updated', 'modified', 'committed', 'ingested', 'title'), documents DESC, name
LIMIT :row_limit OFFSET :row_offset;
