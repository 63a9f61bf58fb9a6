-- Find the passages that hold every word of a question that is looked up, those that have them as they are written first.
--
-- Grade 3: every word as it is written, letter case aside; 2: without the particle behind it, or with another English ending;
-- 1: each as its morphemes, somewhere in the passage. Source code is found beside notes.
-- returns many Held
-- param exact_expr TEXT  FTS5 expression for passages with all words as they are written, English endings aside
-- param word_expr TEXT?  the same without their particles; NULL = there are none
-- param holds_expr TEXT?  the same by their morphemes; NULL = they have none
-- param written_json TEXT?  JSON array of one array a word: GLOB patterns for a text that has it so; NULL = the index tells
-- param doc_ids_json TEXT?  JSON array of documents, from select_eligible_documents; NULL = any
-- param passages_json TEXT?  JSON array of their chunk_rowids that may be found, from select_passages_like; NULL = all of theirs
-- param depth INTEGER  passages; of twenty times as many the text is compared
-- column chunk_rowid INTEGER  the chunk's number
-- column chunk_id TEXT  the chunk
-- column grade INTEGER  3 to 1
-- column is_code INTEGER  1 = source code
WITH
eligible AS (
  SELECT chunk_rowid
  FROM chunks
  WHERE doc_id IN (SELECT value FROM json_each(:doc_ids_json))
    AND (:passages_json IS NULL OR chunk_rowid IN (SELECT value FROM json_each(:passages_json)))
),
notes_exact AS MATERIALIZED (
  SELECT f.rowid AS chunk_rowid, -f.rank AS score
  FROM chunks_fts AS f
  WHERE chunks_fts MATCH coalesce(:exact_expr, '""')
    AND (:doc_ids_json IS NULL OR +f.rowid IN (SELECT e.chunk_rowid FROM eligible AS e))
  LIMIT 20 * :depth
),
code_exact AS MATERIALIZED (
  SELECT f.rowid AS chunk_rowid, -f.rank AS score
  FROM code_fts AS f
  WHERE code_fts MATCH coalesce(:exact_expr, '""')
    AND (:doc_ids_json IS NULL OR +f.rowid IN (SELECT e.chunk_rowid FROM eligible AS e))
  LIMIT 20 * :depth
),
exact AS (
  SELECT chunk_rowid, score FROM notes_exact
  UNION ALL
  SELECT chunk_rowid, score FROM code_exact
),
-- The limit keeps the order: SQLite leaves out that of a subquery without one.
best_first AS MATERIALIZED (
  SELECT chunk_rowid
  FROM exact
  ORDER BY score DESC, chunk_rowid
  LIMIT 40 * :depth
),
-- Of a common word, texts are read only until enough have it so: all, where a passage may score more by another expression.
as_written AS MATERIALIZED (
  SELECT x.chunk_rowid
  FROM best_first AS x
  CROSS JOIN chunks AS c ON c.chunk_rowid = x.chunk_rowid
  WHERE :written_json IS NULL OR NOT EXISTS (
    SELECT 1
    FROM json_each(:written_json) AS word
    WHERE NOT EXISTS (
      SELECT 1
      FROM json_each(word.value) AS pattern
      WHERE lower(char(10) || c.heading_text || char(10) || c.name_text || char(10) || coalesce(c.nfc_text, c.text) || char(10))
        GLOB pattern.value
    )
  )
  LIMIT iif(coalesce(:word_expr, :holds_expr) IS NULL, :depth, -1)
),
notes_word AS MATERIALIZED (
  SELECT f.rowid AS chunk_rowid, -f.rank AS score
  FROM chunks_fts AS f
  WHERE :word_expr IS NOT NULL AND chunks_fts MATCH :word_expr
    AND (:doc_ids_json IS NULL OR +f.rowid IN (SELECT e.chunk_rowid FROM eligible AS e))
  ORDER BY f.rank
  LIMIT :depth
),
code_word AS MATERIALIZED (
  SELECT f.rowid AS chunk_rowid, -f.rank AS score
  FROM code_fts AS f
  WHERE :word_expr IS NOT NULL AND code_fts MATCH :word_expr
    AND (:doc_ids_json IS NULL OR +f.rowid IN (SELECT e.chunk_rowid FROM eligible AS e))
  ORDER BY f.rank
  LIMIT :depth
),
notes_holding AS MATERIALIZED (
  SELECT f.rowid AS chunk_rowid, -f.rank AS score
  FROM chunks_fts AS f
  WHERE :holds_expr IS NOT NULL AND chunks_fts MATCH :holds_expr
    AND (:doc_ids_json IS NULL OR +f.rowid IN (SELECT e.chunk_rowid FROM eligible AS e))
  ORDER BY f.rank
  LIMIT :depth
),
code_holding AS MATERIALIZED (
  SELECT f.rowid AS chunk_rowid, -f.rank AS score
  FROM code_fts AS f
  WHERE :holds_expr IS NOT NULL AND code_fts MATCH :holds_expr
    AND (:doc_ids_json IS NULL OR +f.rowid IN (SELECT e.chunk_rowid FROM eligible AS e))
  ORDER BY f.rank
  LIMIT :depth
),
graded AS (
  SELECT chunk_rowid, score, 2 + (chunk_rowid IN (SELECT w.chunk_rowid FROM as_written AS w)) AS grade FROM exact
  UNION ALL
  SELECT chunk_rowid, score, 2 FROM notes_word
  UNION ALL
  SELECT chunk_rowid, score, 2 FROM code_word
  UNION ALL
  SELECT chunk_rowid, score, 1 FROM notes_holding
  UNION ALL
  SELECT chunk_rowid, score, 1 FROM code_holding
),
held AS MATERIALIZED (
  SELECT chunk_rowid, max(grade) AS grade, max(score) AS score
  FROM graded
  GROUP BY chunk_rowid
  ORDER BY grade DESC, score DESC, chunk_rowid
  LIMIT :depth
)
SELECT
  h.chunk_rowid,
  c.chunk_id,
  h.grade,
  c.symbol_text IS NOT NULL AS is_code
FROM held AS h
CROSS JOIN chunks AS c ON c.chunk_rowid = h.chunk_rowid
ORDER BY h.grade DESC, h.score DESC, c.chunk_id;
