-- Count the documents of each value of a property, the most used first.
-- returns many CountedValue
-- param name TEXT  the property, in whatever case
-- param doc_ids_json TEXT?  JSON array of documents, from select_eligible_documents; NULL = any
-- param row_limit INTEGER  at most so many; -1 = all
-- param row_offset INTEGER  so many are left out first
-- column value TEXT  the value; of a file's time the day, in this machine's zone
-- column kind TEXT  text, number, date or bool
-- column documents INTEGER  documents with it
SELECT iif(p.value LIKE '%.______Z', date(p.value, 'localtime'), p.value) AS value, p.kind,
  count(DISTINCT p.doc_id) AS documents
FROM document_properties AS p
WHERE p.name = :name COLLATE NOCASE
  AND (:doc_ids_json IS NULL OR p.doc_id IN (SELECT value FROM json_each(:doc_ids_json)))
GROUP BY 1, p.kind
ORDER BY documents DESC, p.number, 1
LIMIT :row_limit OFFSET :row_offset;
