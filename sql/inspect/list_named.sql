-- List documents whose title and path hold all of these words: first those with words of the title that begin so, then by their last change.
-- returns many kb.domain.results.inspection.DocumentRow
-- param words_json TEXT  JSON array of words in lower case; none: all documents
-- param doc_ids_json TEXT?  JSON array of documents, from select_eligible_documents; NULL = any
-- param row_limit INTEGER  at most so many
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
WITH words AS (
  SELECT value AS word FROM json_each(:words_json)
), named AS (
  SELECT
    d.doc_id,
    (
      SELECT sum((instr(lower(d.title), w.word) > 0) + (instr(' ' || lower(d.title), ' ' || w.word) > 0)) FROM words AS w
    ) AS in_title
  FROM documents AS d
  WHERE (:doc_ids_json IS NULL OR d.doc_id IN (SELECT value FROM json_each(:doc_ids_json)))
    AND NOT EXISTS (SELECT 1 FROM words AS w WHERE instr(lower(d.title || ' ' || d.workspace_path), w.word) = 0)
  ORDER BY in_title DESC, d.updated_at DESC, d.workspace_path
  LIMIT :row_limit
)
SELECT
  o.doc_id, o.workspace_path, o.title, o.lang, o.tags_json, o.trust_level, o.source_type, o.media_type, o.byte_len,
  o.chunk_count, o.created_at, o.updated_at, o.parser_version, o.chunker_version
FROM named AS n
JOIN document_overview AS o USING (doc_id)
ORDER BY n.in_title DESC, o.updated_at DESC, o.workspace_path;
