-- Rank the chunks that share words or morphemes with a question by BM25, best first.
--
-- The filters are spelled out in each statement that takes them (search_lexical, search_hybrid, list_documents): a view
-- has no parameters, and one of all chunks with their documents would only hide the joins.
-- version 2
-- param match_expr TEXT  FTS5 expression over heading_path, text, tokenized_korean_text and name
-- param filtered INTEGER  0 = no filter is set, 1 = look at the filters below
-- param tags_json TEXT?  JSON array; a document with any of these tags; NULL = any
-- param lang TEXT?  BCP-47 language of the document; NULL = any
-- param doc_ids_json TEXT?  JSON array of documents (path globs, resolved); NULL = any
-- param trust_json TEXT?  JSON array of accepted trust levels; NULL = any
-- param media TEXT?  media type, or its part before the slash; NULL = any
-- param depth INTEGER  candidates, at least k
-- param k INTEGER  hits
-- column rank INTEGER  from 1
-- column chunk_id TEXT  the chunk
-- column doc_id TEXT  its document
-- column workspace_path TEXT  path below the workspace root
-- column source_path TEXT  absolute path on this machine
-- column title TEXT  of the document
-- column heading_path_json TEXT  JSON array of headings, outermost first
-- column section_label TEXT?  the chunk's own heading
-- column text TEXT  the chunk, verbatim
-- column source_spans_json TEXT  JSON array of spans
-- column chunker_version TEXT  label of the chunker
-- column lexical_score REAL  −bm25, words of the name weighted, higher is better
WITH
eligible AS (
  SELECT c.chunk_rowid
  FROM documents AS d
  JOIN chunks AS c USING (doc_id)
  JOIN assets AS a USING (asset_id)
  WHERE (:tags_json IS NULL OR EXISTS (
      SELECT 1 FROM document_tags AS t
      WHERE t.doc_id = d.doc_id AND t.tag IN (SELECT value FROM json_each(:tags_json))
    ))
    AND (:lang IS NULL OR d.lang = :lang)
    AND (:doc_ids_json IS NULL OR d.doc_id IN (SELECT value FROM json_each(:doc_ids_json)))
    AND (:trust_json IS NULL OR d.trust_level IN (SELECT value FROM json_each(:trust_json)))
    AND (:media IS NULL OR a.media_type = :media OR a.media_type LIKE :media || '/%')
),
lexical_hits AS MATERIALIZED (
  SELECT f.rowid AS chunk_rowid, -f.rank AS lexical_score
  FROM chunks_fts AS f
  WHERE chunks_fts MATCH :match_expr
    AND (:filtered = 0 OR +f.rowid IN (SELECT e.chunk_rowid FROM eligible AS e))
  ORDER BY f.rank
  LIMIT max(:depth, :k)
)
SELECT
  row_number() OVER (ORDER BY h.lexical_score DESC, c.chunk_id) AS rank,
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
  h.lexical_score
FROM lexical_hits AS h
JOIN chunks AS c USING (chunk_rowid)
JOIN documents AS d USING (doc_id)
ORDER BY rank
LIMIT :k;
