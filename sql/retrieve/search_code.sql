-- Rank chunks of source code by their words, with those that define a name of the question, hold a line that a stack
-- trace names, or call or construct the name asked for, whatever rank they have.
--
-- What they define is given with them: code is put in order by it (kb/retrieve/code_search.py).
-- version 9
-- returns many kb.domain.code_hits.CodeRow
-- param match_expr TEXT  FTS5 expression over symbol, path, doc, text, identifiers and tokenized_korean_text
-- param names_json TEXT  JSON array of the names that the question names, as folded_name has them
-- param places_json TEXT  JSON array of [path or the end of one, line]
-- param used_json TEXT  JSON array of the names that it asks the uses of
-- param owner_expr TEXT  FTS5 expression for what it says they are members of
-- param doc_ids_json TEXT?  JSON array of documents, from select_eligible_documents; NULL = any
-- param passages_json TEXT?  JSON array of their chunk_rowids that may be found, from select_passages_like; NULL = all of theirs
-- param sought_json TEXT?  JSON array of those that are candidates whatever words they have; NULL = none
-- param symbol_glob TEXT?  only chunks that define a name, plain or qualified, that matches; NULL = any
-- param symbol_kind TEXT?  only chunks that define something of that kind; NULL = any
-- param depth INTEGER  candidates
-- column chunk_rowid INTEGER  the chunk's number
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
-- column lexical_score REAL  −bm25, words of names and paths weighted; 0 where only the name is met
-- column uses_json TEXT?  JSON array of the lines on which it uses one of those names; NULL for none
-- column by_owner INTEGER?  whether its document mentions what they are members of; NULL where it uses none
-- column repository_json TEXT?  JSON array of path, name, branch and commit of the git repository its file is of; NULL for none
-- column defines_json TEXT  JSON array of [name, qualified name, kind, line_start, defined_at, line_end, signature, doc or null]
WITH
eligible AS (
  SELECT chunk_rowid
  FROM chunks
  WHERE doc_id IN (SELECT value FROM json_each(:doc_ids_json))
    AND (:passages_json IS NULL OR chunk_rowid IN (SELECT value FROM json_each(:passages_json)))
),
defining AS (
  SELECT c.chunk_rowid
  FROM symbols AS s
  JOIN chunks AS c ON c.doc_id = s.doc_id
    AND s.defined_at BETWEEN c.source_spans_json ->> '$[0].line_start' AND c.source_spans_json ->> '$[0].line_end'
  WHERE s.folded_name IN (SELECT value FROM json_each(:names_json))
    AND (:doc_ids_json IS NULL OR c.chunk_rowid IN (SELECT e.chunk_rowid FROM eligible AS e))
  ORDER BY s.visibility = 'private', s.path, s.position
  LIMIT :depth
),
placed AS (
  SELECT c.chunk_rowid
  FROM json_each(:places_json) AS p
  JOIN documents AS d
    ON substr('/' || (p.value ->> 0), -length(d.workspace_path) - 1) = '/' || d.workspace_path
    OR substr('/' || d.workspace_path, -length(p.value ->> 0) - 1) = '/' || (p.value ->> 0)
  JOIN chunks AS c ON c.doc_id = d.doc_id
    AND p.value ->> 1 BETWEEN c.source_spans_json ->> '$[0].line_start' AND c.source_spans_json ->> '$[0].line_end'
  WHERE :doc_ids_json IS NULL OR c.chunk_rowid IN (SELECT e.chunk_rowid FROM eligible AS e)
),
owning AS MATERIALIZED (
  SELECT DISTINCT c.doc_id
  FROM code_fts AS f
  JOIN chunks AS c ON c.chunk_rowid = f.rowid
  WHERE code_fts MATCH :owner_expr
),
using_them AS (
  SELECT
    c.chunk_rowid,
    json_group_array(r.line) AS uses_json,
    count(*) AS uses,
    r.doc_id IN (SELECT o.doc_id FROM owning AS o) AS by_owner
  FROM symbol_refs AS r
  JOIN chunks AS c ON c.doc_id = r.doc_id
    AND r.line BETWEEN c.source_spans_json ->> '$[0].line_start' AND c.source_spans_json ->> '$[0].line_end'
  WHERE r.name IN (SELECT value FROM json_each(:used_json))
    AND (:doc_ids_json IS NULL OR c.chunk_rowid IN (SELECT e.chunk_rowid FROM eligible AS e))
  GROUP BY c.chunk_rowid
  ORDER BY by_owner DESC, uses DESC, c.chunk_id
  LIMIT :depth
),
lexical_hits AS MATERIALIZED (
  SELECT f.rowid AS chunk_rowid, -f.rank AS lexical_score
  FROM code_fts AS f
  WHERE code_fts MATCH :match_expr
    AND (:doc_ids_json IS NULL OR +f.rowid IN (SELECT e.chunk_rowid FROM eligible AS e))
    AND ((:symbol_glob IS NULL AND :symbol_kind IS NULL) OR +f.rowid IN (
      SELECT c.chunk_rowid
      FROM symbols AS s
      JOIN chunks AS c ON c.doc_id = s.doc_id
        AND s.defined_at BETWEEN c.source_spans_json ->> '$[0].line_start' AND c.source_spans_json ->> '$[0].line_end'
      WHERE (:symbol_glob IS NULL OR s.name GLOB :symbol_glob OR s.qualified_name GLOB :symbol_glob
          OR '.' || s.dotted_name GLOB '*.' || :symbol_glob)
        AND (:symbol_kind IS NULL OR s.kind = :symbol_kind)
    ))
  ORDER BY f.rank
  LIMIT :depth
),
found AS MATERIALIZED (
  SELECT
    chunk_rowid,
    max(lexical_score) AS lexical_score,
    max(uses_json) AS uses_json,
    max(by_owner) AS by_owner
  FROM (
    SELECT chunk_rowid, lexical_score, NULL AS uses_json, NULL AS by_owner FROM lexical_hits
    UNION ALL
    SELECT chunk_rowid, 0.0, NULL, NULL FROM defining WHERE :symbol_glob IS NULL AND :symbol_kind IS NULL
    UNION ALL
    SELECT value, 0.0, NULL, NULL FROM json_each(:sought_json)
    UNION ALL
    SELECT chunk_rowid, 0.0, NULL, NULL FROM placed WHERE :symbol_glob IS NULL AND :symbol_kind IS NULL
    UNION ALL
    SELECT chunk_rowid, 0.0, uses_json, by_owner FROM using_them WHERE :symbol_glob IS NULL AND :symbol_kind IS NULL
  )
  GROUP BY chunk_rowid
)
SELECT
  c.chunk_rowid,
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
  f.lexical_score,
  f.uses_json,
  f.by_owner,
  (
    SELECT json_array(r.path, r.name, r.branch, r.commit_id) FROM repositories AS r WHERE r.path = d.repository_path
  ) AS repository_json,
  (
    SELECT json_group_array(json_array(
      s.name, s.qualified_name, s.kind, s.line_start, s.defined_at, s.line_end, s.signature, s.doc
    ))
    FROM symbols AS s
    WHERE s.doc_id = c.doc_id
      AND s.defined_at BETWEEN c.source_spans_json ->> '$[0].line_start' AND c.source_spans_json ->> '$[0].line_end'
  ) AS defines_json
FROM found AS f
JOIN chunks AS c USING (chunk_rowid)
JOIN documents AS d USING (doc_id)
ORDER BY f.lexical_score DESC, c.chunk_id;
