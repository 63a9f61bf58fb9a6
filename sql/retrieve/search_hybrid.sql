-- Rank chunks by words and by meaning at once, best first; every channel's rank and score in the result.
--
-- Candidates: the best by BM25 and the nearest by the vector, whatever language they are in. Each candidate gets its BM25,
-- its cosine and, where the model gives tokens, its late interaction: the mean, over the question's tokens, of the best
-- product with one of the passage's. That is what its meaning scores, or else the cosine; its words add their share, less
-- than in proportion: few words in common say little.
-- `maxsim` is a function of kb: without it (the program sqlite3) `NULL` in its place leaves the cosine.
-- version 13
-- returns many kb.domain.search.Passage
-- param fusion TEXT  linear, rrf or cosine
-- param match_expr TEXT  FTS5 expression over heading_path, text, tokenized_korean_text and name
-- param bm25_max REAL?  what lexical scores are shares of, from select_term_counts; NULL = the words of the question say nothing
-- param vector BLOB  the question under the index's model, float32 little-endian, L2 = 1
-- param tokens BLOB?  its tokens, one such vector behind another; NULL = the vector ranks
-- param neighbours_json TEXT?  JSON [[chunk_id, distance], …] from an ANN index; NULL = exact search here
-- param query_lang TEXT  language of the question
-- param words_weight REAL  what a passage that has all words gains in the linear rule
-- param rrf_k INTEGER  rank constant of RRF
-- param recency INTEGER  after how many days the weight of a document's date is half; 0 = dates count nothing
-- param today TEXT  the day that dates are counted from
-- param held_json TEXT?  JSON array of chunks that are candidates whatever rank they have, from select_held; NULL = none
-- param favoured_json TEXT?  JSON array of documents that count more; the best of them are candidates too; NULL = none
-- param doc_ids_json TEXT?  JSON array of documents, from select_eligible_documents; NULL = any
-- param passages_json TEXT?  JSON array of their chunk_rowids that may be found, from select_passages_like; NULL = all of theirs
-- param sought_json TEXT?  JSON array of those that are candidates whatever words they have, best first; NULL = none
-- param depth INTEGER  candidates a channel
-- param k INTEGER  rows
-- param shown INTEGER  rows that say where and what the passage is, beside those of held_json
-- column rank INTEGER  from 1
-- column chunk_rowid INTEGER  the chunk's number
-- column chunk_id TEXT  the chunk
-- column doc_id TEXT  its document; empty, as all to lang, where it is not shown
-- column workspace_path TEXT  path below the workspace root
-- column source_path TEXT  absolute path on this machine
-- column title TEXT  of the document
-- column heading_path_json TEXT  JSON array of headings, outermost first
-- column section_label TEXT?  the chunk's own heading
-- column text TEXT  the chunk, verbatim
-- column source_spans_json TEXT  JSON array of spans
-- column chunker_version TEXT  label of the chunker
-- column lang TEXT  language of the chunk
-- column score REAL  what the hits are ranked by
-- column lexical_score REAL?  −bm25, words of the name weighted; NULL where the chunk has no word of the question
-- column lexical_rank INTEGER?  from 1, among the candidates
-- column lexical_share REAL  bm25 / bm25max, 0 to 1
-- column vector_score REAL?  cosine; NULL where the chunk has no vector yet
-- column vector_rank INTEGER?  from 1, among the candidates
-- column late_score REAL?  late interaction; NULL without tokens
-- column is_own INTEGER  1 = in the question's language; for an English one in none too
-- column is_favoured INTEGER  1 = of a document that counts more
-- column recency_factor REAL?  what the score was multiplied by for the document's date; NULL where dates count nothing
WITH
eligible AS (
  SELECT chunk_rowid
  FROM chunks
  WHERE doc_id IN (SELECT value FROM json_each(:doc_ids_json))
    AND (:passages_json IS NULL OR chunk_rowid IN (SELECT value FROM json_each(:passages_json)))
),
favoured AS (
  SELECT chunk_rowid
  FROM chunks
  WHERE doc_id IN (SELECT value FROM json_each(:favoured_json))
    AND (:doc_ids_json IS NULL OR chunk_rowid IN (SELECT e.chunk_rowid FROM eligible AS e))
),
-- All that have a word, once: the best of them are candidates, and what the vector alone found has words as well.
worded AS MATERIALIZED (
  SELECT f.rowid AS chunk_rowid, -f.rank AS lexical_score
  FROM chunks_fts AS f
  WHERE chunks_fts MATCH :match_expr
),
matching AS (
  SELECT w.chunk_rowid
  FROM worded AS w
  WHERE :doc_ids_json IS NULL OR w.chunk_rowid IN (SELECT e.chunk_rowid FROM eligible AS e)
  ORDER BY w.lexical_score DESC, w.chunk_rowid
  LIMIT :depth
),
matching_favoured AS (
  SELECT w.chunk_rowid
  FROM worded AS w
  WHERE :favoured_json IS NOT NULL AND w.chunk_rowid IN (SELECT e.chunk_rowid FROM favoured AS e)
  ORDER BY w.lexical_score DESC, w.chunk_rowid
  LIMIT :depth
),
nearest AS (
  SELECT v.chunk_rowid, v.distance
  FROM vec_primary AS v
  WHERE :neighbours_json IS NULL AND :doc_ids_json IS NULL
    AND v.embedding MATCH :vector AND v.k = :depth
  UNION ALL
  SELECT v.chunk_rowid, v.distance
  FROM vec_primary AS v
  WHERE :neighbours_json IS NULL AND :doc_ids_json IS NOT NULL
    AND v.embedding MATCH :vector AND v.k = :depth
    AND v.chunk_rowid IN (SELECT e.chunk_rowid FROM eligible AS e)
  UNION ALL
  SELECT v.chunk_rowid, v.distance
  FROM vec_primary AS v
  WHERE :favoured_json IS NOT NULL
    AND v.embedding MATCH :vector AND v.k = :depth
    AND v.chunk_rowid IN (SELECT e.chunk_rowid FROM favoured AS e)
  UNION ALL
  SELECT c.chunk_rowid, NULL AS distance
  FROM json_each(:neighbours_json) AS neighbour
  JOIN chunks AS c ON c.chunk_id = neighbour.value ->> 0
  WHERE :doc_ids_json IS NULL OR c.chunk_rowid IN (SELECT e.chunk_rowid FROM eligible AS e)
),
sought AS (
  SELECT value AS chunk_rowid
  FROM json_each(:sought_json)
  WHERE value IN (SELECT e.chunk_rowid FROM eligible AS e)
  ORDER BY key
  LIMIT :depth
),
candidates AS MATERIALIZED (
  SELECT chunk_rowid, min(distance) AS distance
  FROM (
    SELECT chunk_rowid, NULL AS distance FROM matching
    UNION ALL
    SELECT chunk_rowid, NULL AS distance FROM matching_favoured
    UNION ALL
    SELECT value AS chunk_rowid, NULL AS distance FROM json_each(:held_json)
    UNION ALL
    SELECT chunk_rowid, distance FROM nearest
    UNION ALL
    SELECT chunk_rowid, NULL AS distance FROM sought
  )
  GROUP BY chunk_rowid
),
lexical AS MATERIALIZED (
  SELECT w.chunk_rowid, w.lexical_score
  FROM worded AS w
  WHERE w.chunk_rowid IN (SELECT c.chunk_rowid FROM candidates AS c)
),
late AS MATERIALIZED (
  SELECT CAST(key AS INTEGER) AS chunk_rowid, value AS late_score
  FROM json_each((
    SELECT maxsim(:tokens, t.chunk_rowid, t.count, t.tokens)
    FROM candidates AS c
    CROSS JOIN chunk_tokens AS t ON t.chunk_rowid = c.chunk_rowid
    WHERE :tokens IS NOT NULL
      AND t.model_id = (SELECT s.model_id FROM embedding_slots AS s WHERE s.slot = 'primary')
  ))
),
cosines AS MATERIALIZED (
  SELECT
    c.chunk_rowid,
    1 - coalesce(
      c.distance,
      (SELECT vec_distance_cosine(v.embedding, :vector) FROM vec_primary AS v WHERE v.chunk_rowid = c.chunk_rowid)
    ) AS vector_score
  FROM candidates AS c
),
told AS MATERIALIZED (
  SELECT
    s.chunk_rowid,
    c.chunk_id,
    c.lang IN (:query_lang, iif(:query_lang = 'en', 'und', :query_lang)) AS is_own,
    c.doc_id IN (SELECT value FROM json_each(:favoured_json)) AS is_favoured,
    w.lexical_score,
    coalesce(w.lexical_score / :bm25_max, 0) AS lexical_share,
    s.vector_score,
    t.late_score,
    -- A document of today counts as much more as one of the days that a question names.
    iif(:recency > 0 AND :fusion <> 'cosine', 1 + 0.15 * coalesce((
      SELECT pow(0.5, max(0, julianday(:today) - julianday(substr(p.value, 1, 10))) / :recency)
      FROM document_properties AS p
      WHERE p.doc_id = c.doc_id AND p.name = 'date' AND p.position = 0 AND p.kind = 'date'
    ), 0), NULL) AS recency_factor,
    -- A chunk that is not embedded yet is taken for the least similar candidate.
    iif(
      max(t.late_score) OVER () IS NULL,
      coalesce(s.vector_score, min(s.vector_score) OVER (), 0),
      coalesce(t.late_score, min(t.late_score) OVER ())
    ) AS meaning
  FROM cosines AS s
  CROSS JOIN chunks AS c ON c.chunk_rowid = s.chunk_rowid
  LEFT JOIN lexical AS w ON w.chunk_rowid = s.chunk_rowid
  LEFT JOIN late AS t ON t.chunk_rowid = s.chunk_rowid
),
placed AS MATERIALIZED (
  SELECT
    t.chunk_rowid,
    iif(t.lexical_score IS NULL, NULL, row_number() OVER (ORDER BY t.lexical_score DESC, t.chunk_id)) AS lexical_rank,
    iif(t.vector_score IS NULL, NULL, row_number() OVER (ORDER BY t.vector_score DESC, t.chunk_id)) AS vector_rank,
    row_number() OVER (ORDER BY t.meaning DESC, t.chunk_id) AS meaning_rank
  FROM told AS t
),
scored AS MATERIALIZED (
  SELECT
    t.chunk_rowid,
    t.chunk_id,
    p.lexical_rank,
    p.vector_rank,
    iif(t.is_favoured, 1.15, 1)
    * coalesce(t.recency_factor, 1)
    * CASE :fusion
      WHEN 'linear' THEN t.meaning + :words_weight * pow(t.lexical_share, 1.5)
      WHEN 'cosine' THEN t.vector_score
      -- Cormack, Clarke and Büttcher 2009, divided by what rank 1 in both channels would give.
      ELSE (
        coalesce(1.0 / (:rrf_k + p.lexical_rank), 0) + iif(t.vector_score IS NULL, 0, 1.0 / (:rrf_k + p.meaning_rank))
      ) * (:rrf_k + 1) / 2
    END AS score
  FROM told AS t
  CROSS JOIN placed AS p ON p.chunk_rowid = t.chunk_rowid
  WHERE :fusion <> 'cosine' OR t.vector_score IS NOT NULL
),
-- Before their texts are read: a sorter would carry those of every candidate.
best AS MATERIALIZED (
  SELECT
    row_number() OVER (ORDER BY s.score DESC, coalesce(s.lexical_rank, 1e9), s.chunk_id) AS rank,
    s.chunk_rowid,
    s.lexical_rank,
    s.vector_rank,
    s.score
  FROM scored AS s
  ORDER BY rank
  LIMIT :k
)
SELECT
  b.rank,
  b.chunk_rowid,
  t.chunk_id,
  coalesce(c.doc_id, '') AS doc_id,
  coalesce(d.workspace_path, '') AS workspace_path,
  coalesce(d.source_path, '') AS source_path,
  coalesce(d.title, '') AS title,
  coalesce(c.heading_path_json, '') AS heading_path_json,
  c.section_label,
  coalesce(c.text, '') AS text,
  coalesce(c.source_spans_json, '') AS source_spans_json,
  coalesce(c.chunker_version, '') AS chunker_version,
  coalesce(c.lang, '') AS lang,
  b.score,
  t.lexical_score,
  b.lexical_rank,
  t.lexical_share,
  t.vector_score,
  b.vector_rank,
  t.late_score,
  t.is_own,
  t.is_favoured,
  t.recency_factor
FROM best AS b
CROSS JOIN told AS t ON t.chunk_rowid = b.chunk_rowid
LEFT JOIN chunks AS c
  ON c.chunk_rowid = b.chunk_rowid
  AND (b.rank <= :shown OR b.chunk_rowid IN (SELECT value FROM json_each(:held_json)))
LEFT JOIN documents AS d ON d.doc_id = c.doc_id
ORDER BY b.rank;
