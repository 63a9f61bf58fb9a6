-- Read in how many chunks each term of a question occurs, from common_terms where it is there, else from the index; how
-- rare that makes it; and the most that BM25 can give for the terms so far: what a question's lexical scores are shares of.
--
-- For a term in n of N chunks FTS5's own idf is ln((N - n + .5) / (n + .5)), at least 1e-6; bm25_max = (k1 + 1) · Σ of it, absent
-- terms included (k1 = 1.2); the last row has that of all terms. What sentences and titles are read by, idf = ln(1 + (N - n + .5) /
-- (n + .5)), is the same but for words in half of the chunks or more: those still tell the sentences of a small vault apart.
-- returns many TermCount
-- param terms_json TEXT  JSON array of [FTS5 string, token as indexed or null for a prefix]
-- column position INTEGER  of the term, from 0
-- column chunks INTEGER  chunks that have the term in any column
-- column idf REAL  how rare the term is, above 0
-- column bm25_max REAL  of this term and those before it
WITH
corpus AS MATERIALIZED (
  SELECT value AS chunks FROM kv WHERE key = 'chunk_total'
),
term_counts AS MATERIALIZED (
  SELECT
    term.key AS position,
    coalesce(
      (SELECT t.chunks FROM common_terms AS t WHERE t.term = term.value ->> 1),
      iif(
        term.value ->> 1 IS NULL,
        (SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH (term.value ->> 0)),
        (SELECT v.doc FROM chunks_vocab AS v WHERE v.term = term.value ->> 1)
      ),
      0
    ) AS chunks
  FROM json_each(:terms_json) AS term
),
rarities AS (
  SELECT
    t.position,
    t.chunks,
    (max(corpus.chunks - t.chunks, 0) + 0.5) / (t.chunks + 0.5) AS odds
  FROM term_counts AS t
  CROSS JOIN corpus
)
SELECT
  r.position,
  r.chunks,
  ln(1 + r.odds) AS idf,
  2.2 * sum(max(1e-6, ln(r.odds))) OVER (ORDER BY r.position) AS bm25_max
FROM rarities AS r
ORDER BY r.position;
