-- Read the dates of documents: as they say themselves in their frontmatter or name, else when their files were changed.
--
-- A file's own time is kept to the microsecond; copying a folder changes it, so a stated day goes before it.
-- returns many DocumentDate
-- param doc_ids_json TEXT  JSON array of document ids
-- column doc_id TEXT  the document
-- column dated TEXT  RFC 3339
SELECT doc_id,
  CASE WHEN updated_at LIKE '%.______Z' AND created_at NOT LIKE '%.______Z' THEN created_at ELSE updated_at END AS dated
FROM documents
WHERE doc_id IN (SELECT value FROM json_each(:doc_ids_json))
ORDER BY doc_id;
