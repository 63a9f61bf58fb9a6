-- The mean metrics of a run: of all its questions, of each language and of each category.
-- returns many kb.domain.results.evaluation.GroupMetrics
-- param run_id TEXT  the run
-- column grouping TEXT  all, lang or category
-- column label TEXT  the language or category; empty for all
-- column questions INTEGER  questions of the group
-- column hit_at_1 REAL?  mean over the questions that say something about it, as all that follow
-- column hit_at_k REAL?  share of questions with a relevant passage among the hits
-- column mrr REAL?  mean reciprocal rank
-- column ndcg_at_10 REAL?  over documents
-- column recall_at_k_doc REAL?  of documents
-- column precision_at_k_chunk REAL?  of passages
-- column citation_exactness REAL?  share of exact citations
-- column answer_found REAL?  share of questions whose hits hold the answer's strings
-- column refusal_recall REAL?  share of unanswerable questions that were refused
-- column answer_recall REAL?  share of answerable questions that were answered
-- column must_contain REAL?  share of answers that hold every string they must
-- column forbidden REAL?  share of answers that hold no string they must not
-- column refusal_precision REAL?  share of refused questions that are unanswerable
-- column latency_p50_ms REAL  median of the search, milliseconds
-- column latency_p95_ms REAL  its 95th percentile (nearest rank)
WITH
metrics AS MATERIALIZED (
  SELECT
    query_id, lang, category, hit_at_1, hit_at_k, mrr, ndcg_at_10, recall_at_k_doc, precision_at_k_chunk,
    citation_exactness, answer_found, refusal_recall, answer_recall, must_contain, forbidden, refusal_precision, latency_ms
  FROM eval_query_metrics
  WHERE run_id = :run_id
),
members AS (
  SELECT 'all' AS grouping, '' AS label, query_id, latency_ms FROM metrics
  UNION ALL
  SELECT 'lang', lang, query_id, latency_ms FROM metrics WHERE lang IS NOT NULL
  UNION ALL
  SELECT 'category', category, query_id, latency_ms FROM metrics WHERE category IS NOT NULL
),
ordered AS (
  SELECT
    grouping,
    label,
    query_id,
    row_number() OVER (PARTITION BY grouping, label ORDER BY latency_ms) AS place,
    count(*) OVER (PARTITION BY grouping, label) AS members
  FROM members
)
SELECT
  grouping,
  label,
  count(*) AS questions,
  avg(hit_at_1) AS hit_at_1,
  avg(hit_at_k) AS hit_at_k,
  avg(mrr) AS mrr,
  avg(ndcg_at_10) AS ndcg_at_10,
  avg(recall_at_k_doc) AS recall_at_k_doc,
  avg(precision_at_k_chunk) AS precision_at_k_chunk,
  avg(citation_exactness) AS citation_exactness,
  avg(answer_found) AS answer_found,
  avg(refusal_recall) AS refusal_recall,
  avg(answer_recall) AS answer_recall,
  avg(must_contain) AS must_contain,
  avg(forbidden) AS forbidden,
  avg(refusal_precision) AS refusal_precision,
  min(iif(place >= 0.5 * members, latency_ms, NULL)) AS latency_p50_ms,
  min(iif(place >= 0.95 * members, latency_ms, NULL)) AS latency_p95_ms
FROM ordered
JOIN metrics USING (query_id)
GROUP BY grouping, label
ORDER BY grouping, label;
