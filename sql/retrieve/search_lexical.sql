-- Rank the chunks that share words or morphemes with a question by BM25, best first.
-- version 8
-- returns many kb.domain.search.Passage
-- param match_expr TEXT  FTS5 expression over heading_path, text, tokenized_korean_text and name
-- param both_expr TEXT?  FTS5 expression for chunks that score more by it than by the first; NULL = none
-- param held_json TEXT?  JSON array of chunks that are hits whatever rank they have, from select_held; NULL = none
-- param favoured_json TEXT?  JSON array of documents whose passages come as if they scored twice as much; NULL = none
-- param doc_ids_json TEXT?  JSON array of documents, from select_eligible_documents; NULL = any
-- param passages_json TEXT?  JSON array of their chunk_rowids that may be found, from select_passages_like; NULL = all of theirs
-- param sought_json TEXT?  JSON array of those that are candidates whatever words they have, best first; NULL = none
-- param depth INTEGER  candidates, at least k
-- param k INTEGER  hits beside those
-- column rank INTEGER  from 1
-- column chunk_rowid INTEGER  the chunk's number
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
  SELECT chunk_rowid
  FROM chunks
  WHERE doc_id IN (SELECT value FROM json_each(:doc_ids_json))
    AND (:passages_json IS NULL OR chunk_rowid IN (SELECT value FROM json_each(:passages_json)))
),
matching AS (
  SELECT f.rowid AS chunk_rowid, -f.rank AS lexical_score
  FROM chunks_fts AS f
  WHERE chunks_fts MATCH :match_expr
    AND (:doc_ids_json IS NULL OR +f.rowid IN (SELECT e.chunk_rowid FROM eligible AS e))
  ORDER BY f.rank
  LIMIT max(:depth, :k)
),
matching_both AS (
  SELECT f.rowid AS chunk_rowid, -f.rank AS lexical_score
  FROM chunks_fts AS f
  WHERE :both_expr IS NOT NULL
    AND chunks_fts MATCH :both_expr
    AND (:doc_ids_json IS NULL OR +f.rowid IN (SELECT e.chunk_rowid FROM eligible AS e))
  ORDER BY f.rank
  LIMIT max(:depth, :k)
),
matching_favoured AS (
  SELECT f.rowid AS chunk_rowid, -f.rank AS lexical_score
  FROM chunks_fts AS f
  WHERE :favoured_json IS NOT NULL
    AND chunks_fts MATCH :match_expr
    AND +f.rowid IN (SELECT c.chunk_rowid FROM chunks AS c WHERE c.doc_id IN (SELECT value FROM json_each(:favoured_json)))
    AND (:doc_ids_json IS NULL OR +f.rowid IN (SELECT e.chunk_rowid FROM eligible AS e))
  ORDER BY f.rank
  LIMIT max(:depth, :k)
),
holding AS (
  SELECT f.rowid AS chunk_rowid, -f.rank AS lexical_score
  FROM chunks_fts AS f
  WHERE :held_json IS NOT NULL
    AND chunks_fts MATCH :match_expr
    AND +f.rowid IN (SELECT value FROM json_each(:held_json))
),
sought AS (
  SELECT value AS chunk_rowid, -1e-9 * key AS lexical_score
  FROM json_each(:sought_json)
  WHERE value IN (SELECT e.chunk_rowid FROM eligible AS e)
  ORDER BY key
  LIMIT max(:depth, :k)
),
lexical_hits AS MATERIALIZED (
  SELECT m.chunk_rowid, max(m.lexical_score) AS lexical_score
  FROM (
    SELECT chunk_rowid, lexical_score FROM matching
    UNION ALL
    SELECT chunk_rowid, lexical_score FROM matching_both
    UNION ALL
    SELECT chunk_rowid, lexical_score FROM matching_favoured
    UNION ALL
    SELECT chunk_rowid, lexical_score FROM holding
    UNION ALL
    SELECT chunk_rowid, lexical_score FROM sought
  ) AS m
  GROUP BY m.chunk_rowid
),
best AS MATERIALIZED (
  SELECT
    -- Enough to come before a passage as good of another day, too little to come before one that is much better.
    row_number() OVER (
      ORDER BY h.lexical_score * iif(c.doc_id IN (SELECT value FROM json_each(:favoured_json)), 2.0, 1) DESC, c.chunk_id
    ) AS rank,
    h.chunk_rowid,
    h.lexical_score
  FROM lexical_hits AS h
  CROSS JOIN chunks AS c ON c.chunk_rowid = h.chunk_rowid
)
SELECT
  h.rank,
  h.chunk_rowid,
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
FROM best AS h
JOIN chunks AS c USING (chunk_rowid)
JOIN documents AS d USING (doc_id)
WHERE h.rank <= :k OR h.chunk_rowid IN (SELECT value FROM json_each(:held_json))
ORDER BY h.rank;
