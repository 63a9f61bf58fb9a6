-- List documents with their sizes, tags and versions, in the order of their paths.
--
-- The filters are spelled out in each statement that takes them (search_lexical, search_hybrid, list_documents): a view
-- has no parameters, and one of all chunks with their documents would only hide the joins.
-- version 1
-- param filtered INTEGER  0 = no filter is set, 1 = look at the filters below
-- param tags_json TEXT?  JSON array; a document with any of these tags; NULL = any
-- param lang TEXT?  BCP-47 language; NULL = any
-- param doc_ids_json TEXT?  JSON array of documents (path globs, resolved); NULL = any
-- param trust_json TEXT?  JSON array of accepted trust levels; NULL = any
-- param media TEXT?  media type, or its part before the slash; NULL = any
-- param row_limit INTEGER  at most so many; -1 = all
-- column doc_id TEXT  the document
-- column workspace_path TEXT  path below the workspace root
-- column title TEXT  from frontmatter, first heading or file name
-- column lang TEXT  BCP-47 language
-- column tags_json TEXT  JSON array, sorted
-- column trust_level TEXT  primary, secondary or generated
-- column source_type TEXT  markdown, note, paper, reference or inbox
-- column media_type TEXT  e.g. markdown
-- column byte_len INTEGER  bytes
-- column chunk_count INTEGER  chunks
-- column created_at TEXT  RFC 3339
-- column updated_at TEXT  RFC 3339
-- column parser_version TEXT  label of the parser
-- column chunker_version TEXT?  label of the chunker
SELECT
  doc_id, workspace_path, title, lang, tags_json, trust_level, source_type, media_type, byte_len, chunk_count,
  created_at, updated_at, parser_version, chunker_version
FROM document_overview AS d
WHERE :filtered = 0 OR (
  (:tags_json IS NULL OR EXISTS (
    SELECT 1 FROM document_tags AS t
    WHERE t.doc_id = d.doc_id AND t.tag IN (SELECT value FROM json_each(:tags_json))
  ))
  AND (:lang IS NULL OR lang = :lang)
  AND (:doc_ids_json IS NULL OR doc_id IN (SELECT value FROM json_each(:doc_ids_json)))
  AND (:trust_json IS NULL OR trust_level IN (SELECT value FROM json_each(:trust_json)))
  AND (:media IS NULL OR media_type = :media OR media_type LIKE :media || '/%')
)
ORDER BY workspace_path
LIMIT :row_limit;
