-- Rank chunks by words and by meaning at once, best first; every channel's rank and score in the result.
--
-- Candidates: the best by BM25, and of each language the nearest by the primary embedding (of other languages than the
-- question's by the secondary one too). Each candidate gets its exact cosines. Passages in the question's language are
-- ranked by the fusion rule. Passages in another language cannot share its words, and embeddings prefer the question's
-- own language; so they are ranked among themselves, and the j-th stands no lower than right behind the own-language
-- passage of rank slot + j. Where one of them is nearer all the same, they lead.
-- version 8
-- param fusion TEXT  linear, rrf or cosine
-- param match_expr TEXT  FTS5 expression over heading_path, text, tokenized_korean_text and name
-- param bm25_max REAL?  what lexical scores are shares of, from select_term_counts; NULL = the words of the question say nothing
-- param primary_vec BLOB  the question under the primary model, float32 little-endian, L2 = 1
-- param secondary_vec BLOB?  the question under the secondary model; NULL = one model
-- param neighbours_json TEXT?  JSON [[chunk_id, distance], …] from an ANN index; NULL = exact search here
-- param query_lang TEXT  language of the question
-- param lexical_weight REAL  a of the linear rule, 0 to 1
-- param cross_lexical_weight REAL  the same for passages in another language
-- param secondary_weight REAL  what the secondary cosine counts beside the primary one, in another language
-- param near_slot INTEGER  own-language passages before the first in another language, where that one is near
-- param far_slot INTEGER  the same where it is not
-- param near_margin REAL  how much less near, corrected for the languages' means, still counts as near
-- param rrf_k INTEGER  rank constant of RRF
-- param rrf_lexical_weight REAL  what the lexical channel counts in RRF; the vector channel counts 1
-- param held_json TEXT?  JSON array of chunks that are candidates whatever rank they have, from select_held; NULL = none
-- param doc_ids_json TEXT?  JSON array of documents, from select_eligible_documents; NULL = any
-- param passages_json TEXT?  JSON array of their chunk_rowids that may be found, from select_passages_like; NULL = all of theirs
-- param sought_json TEXT?  JSON array of those that are candidates whatever words they have, best first; NULL = none
-- param depth INTEGER  candidates a channel
-- param k INTEGER  hits
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
-- column lang TEXT  language of the chunk
-- column fusion_score REAL  what the hits are ranked by
-- column lexical_score REAL?  −bm25, words of the name weighted; NULL where the lexical channel did not find the chunk
-- column lexical_rank INTEGER?  from 1
-- column vector_score REAL?  cosine under the primary model; NULL where the chunk has no vector yet
-- column vector_rank INTEGER?  from 1, among the candidates
-- column secondary_score REAL?  cosine under the secondary model
-- column is_own INTEGER  1 = in the question's language; for an English one in none too
-- column lexical_share REAL  bm25 / bm25max, 0 to 1
-- column vector_share REAL  the cosine that counted
-- column nearness REAL?  the primary cosine less that to the mean of the passage's language; NULL where that is unknown
WITH
-- Text in no language that could be told (tables, lists of terms, code) is of Latin letters, as English is.
own_languages AS MATERIALIZED (
  SELECT :query_lang AS lang
  UNION ALL
  SELECT 'und' AS lang WHERE :query_lang = 'en'
),
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
  LIMIT :depth
),
holding AS (
  SELECT f.rowid AS chunk_rowid, -f.rank AS lexical_score
  FROM chunks_fts AS f
  WHERE :held_json IS NOT NULL
    AND chunks_fts MATCH :match_expr
    AND +f.rowid IN (SELECT value FROM json_each(:held_json))
),
lexical_hits AS MATERIALIZED (
  SELECT chunk_rowid, max(lexical_score) AS lexical_score
  FROM (SELECT chunk_rowid, lexical_score FROM matching UNION ALL SELECT chunk_rowid, lexical_score FROM holding)
  GROUP BY chunk_rowid
),
vector_hits AS MATERIALIZED (
  SELECT v.chunk_rowid, v.distance
  FROM language_means AS m CROSS JOIN vec_primary AS v
  WHERE :neighbours_json IS NULL AND :doc_ids_json IS NULL AND m.slot = 'primary'
    AND v.lang = m.lang AND v.embedding MATCH :primary_vec AND v.k = :depth
  UNION ALL
  SELECT v.chunk_rowid, v.distance
  FROM language_means AS m CROSS JOIN vec_primary AS v
  WHERE :neighbours_json IS NULL AND :doc_ids_json IS NOT NULL AND m.slot = 'primary'
    AND v.lang = m.lang AND v.embedding MATCH :primary_vec AND v.k = :depth
    AND v.chunk_rowid IN (SELECT e.chunk_rowid FROM eligible AS e)
  UNION ALL
  SELECT v.chunk_rowid, NULL AS distance
  FROM language_means AS m CROSS JOIN vec_secondary AS v
  WHERE :neighbours_json IS NULL AND :doc_ids_json IS NULL AND :secondary_vec IS NOT NULL AND m.slot = 'secondary'
    AND m.lang NOT IN (SELECT o.lang FROM own_languages AS o)
    AND v.lang = m.lang AND v.embedding MATCH :secondary_vec AND v.k = :depth
  UNION ALL
  SELECT v.chunk_rowid, NULL AS distance
  FROM language_means AS m CROSS JOIN vec_secondary AS v
  WHERE :neighbours_json IS NULL AND :doc_ids_json IS NOT NULL AND :secondary_vec IS NOT NULL AND m.slot = 'secondary'
    AND m.lang NOT IN (SELECT o.lang FROM own_languages AS o)
    AND v.lang = m.lang AND v.embedding MATCH :secondary_vec AND v.k = :depth
    AND v.chunk_rowid IN (SELECT e.chunk_rowid FROM eligible AS e)
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
candidates AS (
  SELECT chunk_rowid, min(distance) AS distance
  FROM (
    SELECT chunk_rowid, NULL AS distance FROM lexical_hits
    UNION ALL
    SELECT chunk_rowid, distance FROM vector_hits
    UNION ALL
    SELECT chunk_rowid, NULL AS distance FROM sought
  )
  GROUP BY chunk_rowid
),
cosines AS MATERIALIZED (
  SELECT
    c.chunk_rowid,
    ch.chunk_id,
    ch.lang,
    ch.lang IN (SELECT o.lang FROM own_languages AS o) AS is_own,
    1 - coalesce(
      c.distance,
      (SELECT vec_distance_cosine(v.embedding, :primary_vec) FROM vec_primary AS v WHERE v.chunk_rowid = c.chunk_rowid)
    ) AS primary_cosine,
    iif(:secondary_vec IS NULL OR ch.lang IN (SELECT o.lang FROM own_languages AS o), NULL, (
      SELECT 1 - vec_distance_cosine(v.embedding, :secondary_vec)
      FROM vec_secondary AS v
      WHERE v.chunk_rowid = c.chunk_rowid
    )) AS secondary_cosine
  FROM candidates AS c
  CROSS JOIN chunks AS ch ON ch.chunk_rowid = c.chunk_rowid
),
lexical AS (
  SELECT
    h.chunk_rowid,
    h.lexical_score,
    row_number() OVER (ORDER BY h.lexical_score DESC, c.chunk_id) AS lexical_rank
  FROM lexical_hits AS h
  CROSS JOIN chunks AS c ON c.chunk_rowid = h.chunk_rowid
),
shares AS MATERIALIZED (
  SELECT
    s.chunk_rowid,
    s.chunk_id,
    s.lang,
    s.is_own,
    s.primary_cosine,
    s.secondary_cosine,
    l.lexical_score,
    l.lexical_rank,
    iif(
      s.primary_cosine IS NULL, NULL, row_number() OVER (ORDER BY s.primary_cosine DESC, s.chunk_id)
    ) AS vector_rank,
    coalesce(l.lexical_score / :bm25_max, 0) AS lexical_share,
    -- A chunk that has no vector yet is taken for the least similar candidate.
    coalesce(s.primary_cosine, min(s.primary_cosine) OVER (), 0)
    + coalesce(:secondary_weight * s.secondary_cosine, 0) AS vector_share
  FROM cosines AS s
  LEFT JOIN lexical AS l USING (chunk_rowid)
),
ruled AS MATERIALIZED (
  SELECT
    s.chunk_rowid,
    s.chunk_id,
    s.lang,
    s.is_own,
    s.primary_cosine,
    s.secondary_cosine,
    s.lexical_score,
    s.lexical_rank,
    s.vector_rank,
    s.lexical_share,
    s.vector_share,
    CASE :fusion
      WHEN 'linear' THEN :lexical_weight * s.lexical_share
        + (1 - :lexical_weight) * (s.vector_share - coalesce(:secondary_weight * s.secondary_cosine, 0))
      WHEN 'cosine' THEN s.primary_cosine
      -- Cormack, Clarke and Büttcher 2009, divided by what rank 1 in both channels would give.
      ELSE (
        coalesce(:rrf_lexical_weight / (:rrf_k + s.lexical_rank), 0) + coalesce(1.0 / (:rrf_k + s.vector_rank), 0)
      ) * (:rrf_k + 1) / (1.0 + :rrf_lexical_weight)
    END AS score,
    :cross_lexical_weight * s.lexical_share + (1 - :cross_lexical_weight) * s.vector_share AS cross_score
  FROM shares AS s
  WHERE :fusion <> 'cosine' OR s.primary_cosine IS NOT NULL
),
-- How near the question stands to each language as a whole.
language_nearness AS MATERIALIZED (
  SELECT m.lang, (1 - vec_distance_cosine(m.mean, :primary_vec)) * m.norm AS nearness
  FROM language_means AS m
  WHERE m.slot = 'primary' AND m.chunks >= 20
),
-- How much nearer it stands to its own language than to another.
language_shift AS MATERIALIZED (
  SELECT l.lang, own.nearness - l.nearness AS shift
  FROM language_nearness AS l
  CROSS JOIN language_nearness AS own
  WHERE own.lang = :query_lang AND l.lang NOT IN (SELECT o.lang FROM own_languages AS o)
),
slot AS MATERIALIZED (
  SELECT
    CASE
      WHEN max(iif(r.is_own, NULL, r.primary_cosine)) > max(iif(r.is_own, r.primary_cosine, NULL)) THEN -1
      WHEN max(iif(r.is_own, NULL, r.primary_cosine + coalesce(shift.shift, 0)))
        >= max(iif(r.is_own, r.primary_cosine, NULL)) - :near_margin THEN :near_slot
      ELSE :far_slot
    END AS own_before
  FROM ruled AS r
  LEFT JOIN language_shift AS shift ON shift.lang = r.lang
),
own AS MATERIALIZED (
  SELECT score, row_number() OVER (ORDER BY score DESC, chunk_id) AS own_rank FROM ruled WHERE is_own
),
other AS (
  SELECT r.chunk_rowid, r.score, r.cross_score, row_number() OVER (ORDER BY r.cross_score DESC, r.chunk_id) AS other_rank
  FROM ruled AS r
  WHERE NOT r.is_own
),
fused AS (
  SELECT r.chunk_rowid, r.score AS fusion_score FROM ruled AS r WHERE r.is_own OR :fusion <> 'linear'
  UNION ALL
  SELECT
    o.chunk_rowid,
    CASE
      WHEN NOT EXISTS (SELECT 1 FROM own) THEN o.cross_score
      ELSE max(
        o.score,
        coalesce(
          own.score,
          iif(
            slot.own_before + o.other_rank < 1,
            (SELECT max(best.score) FROM own AS best) + 1e-3,
            (SELECT min(worst.score) FROM own AS worst) - 1e-3
          )
        ) - 1e-7 * o.other_rank
      )
    END AS fusion_score
  FROM other AS o
  CROSS JOIN slot
  LEFT JOIN own ON own.own_rank = slot.own_before + o.other_rank
  WHERE :fusion = 'linear'
),
-- Before their texts are read: a sorter would carry those of every candidate.
best AS MATERIALIZED (
  SELECT
    row_number() OVER (ORDER BY f.fusion_score DESC, coalesce(r.lexical_rank, 1e9), r.chunk_id) AS rank,
    f.fusion_score,
    r.chunk_rowid,
    r.chunk_id,
    r.lexical_score,
    r.lexical_rank,
    r.primary_cosine,
    r.vector_rank,
    r.secondary_cosine,
    r.is_own,
    r.lang,
    r.lexical_share,
    r.vector_share
  FROM fused AS f
  CROSS JOIN ruled AS r ON r.chunk_rowid = f.chunk_rowid -- CROSS keeps the order: no table is scanned for a hundred rows
  ORDER BY rank
  LIMIT :k
)
SELECT
  b.rank,
  b.chunk_rowid,
  b.chunk_id,
  c.doc_id,
  d.workspace_path,
  d.source_path,
  d.title,
  c.heading_path_json,
  c.section_label,
  c.text,
  c.source_spans_json,
  c.chunker_version,
  b.lang,
  b.fusion_score,
  b.lexical_score,
  b.lexical_rank,
  b.primary_cosine AS vector_score,
  b.vector_rank,
  b.secondary_cosine AS secondary_score,
  b.is_own,
  b.lexical_share,
  b.vector_share,
  b.primary_cosine - language.nearness AS nearness
FROM best AS b
CROSS JOIN chunks AS c ON c.chunk_rowid = b.chunk_rowid
CROSS JOIN documents AS d ON d.doc_id = c.doc_id
LEFT JOIN language_nearness AS language ON language.lang = b.lang
ORDER BY b.rank;
