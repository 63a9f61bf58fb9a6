-- List the chunks of source code in which names are called or constructed, those that do so most first.
-- version 2
-- param names_json TEXT  JSON array of names
-- param doc_ids_json TEXT?  JSON array of documents, from select_eligible_documents; NULL = any
-- param row_limit INTEGER?  at most so many; NULL = all
-- column chunk_id TEXT  the chunk
-- column doc_id TEXT  its document
-- column workspace_path TEXT  path below the workspace root
-- column source_path TEXT  absolute path on this machine
-- column title TEXT  of the document
-- column heading_path_json TEXT  JSON array of names, outermost first
-- column section_label TEXT?  what the chunk is called
-- column text TEXT  the chunk, verbatim
-- column source_spans_json TEXT  JSON array of one span
-- column chunker_version TEXT  label of the chunker
-- column uses INTEGER  lines on which it uses one of the names
SELECT
  c.chunk_id,
  c.doc_id,
  d.workspace_path,
  d.source_path,
  d.title,
  c.heading_path_json,
  c.section_label,
  c.text,
  c.source_spans_json,
  c.chunker_version,
  count(*) AS uses
FROM symbol_refs AS r
JOIN chunks AS c ON c.doc_id = r.doc_id
  AND r.line BETWEEN c.source_spans_json ->> '$[0].line_start' AND c.source_spans_json ->> '$[0].line_end'
JOIN documents AS d ON d.doc_id = c.doc_id
WHERE r.name IN (SELECT value FROM json_each(:names_json))
  AND (:doc_ids_json IS NULL OR c.doc_id IN (SELECT value FROM json_each(:doc_ids_json)))
GROUP BY c.chunk_rowid
ORDER BY uses DESC, d.workspace_path, c.ordinal
LIMIT coalesce(:row_limit, -1);
