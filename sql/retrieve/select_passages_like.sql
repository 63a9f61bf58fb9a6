-- Read the passages that may contain a text, in the order of their files; kb/retrieve/passages.py then checks the text
-- of each.
-- returns each PassageLike
-- param doc_ids_json TEXT?  JSON array of documents, from select_eligible_documents; NULL = any
-- param pattern TEXT?  LIKE pattern for the passage, its title or its headings, \ before what is no wildcard; NULL = every passage, without its text
-- column chunk_rowid INTEGER  the chunk's number
-- column doc_id TEXT  its document
-- column is_code INTEGER  1 = of source code
-- column text TEXT?  the chunk, as indexed
-- column title TEXT  of the document
-- column heading_path_json TEXT  JSON array of headings, outermost first
SELECT
  c.chunk_rowid,
  c.doc_id,
  c.symbol_text IS NOT NULL AS is_code,
  iif(:pattern IS NULL, NULL, coalesce(c.nfc_text, c.text)) AS text,
  d.title,
  c.heading_path_json
FROM documents AS d
CROSS JOIN chunks AS c ON c.doc_id = d.doc_id
WHERE (:doc_ids_json IS NULL OR d.doc_id IN (SELECT value FROM json_each(:doc_ids_json)))
  AND (
    :pattern IS NULL
    OR coalesce(c.nfc_text, c.text) LIKE :pattern ESCAPE '\'
    OR d.title LIKE :pattern ESCAPE '\'
    OR c.heading_path_json LIKE :pattern ESCAPE '\'
  )
ORDER BY d.workspace_path, c.ordinal;
