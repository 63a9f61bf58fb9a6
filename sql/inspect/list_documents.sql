-- List documents with their sizes, tags and versions, in the order of their paths.
-- returns many kb.domain.results.inspection.DocumentRow
-- param doc_ids_json TEXT?  JSON array of documents, from select_eligible_documents; NULL = any
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
FROM document_overview
WHERE :doc_ids_json IS NULL OR doc_id IN (SELECT value FROM json_each(:doc_ids_json))
ORDER BY workspace_path
LIMIT :row_limit;
