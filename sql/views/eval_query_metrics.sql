-- One row per question of an evaluation run: its metrics, empty where it says nothing about one.
--
-- hit_at_1, hit_at_k and mrr count passages that an expectation covers; ndcg_at_10 (Järvelin and Kekäläinen 2002, gain
-- = grade) and recall_at_k_doc count documents, each at its best passage; precision_at_k_chunk divides by k, and only
-- where lines or passages are expected. answer_found: the hits hold every string of must_contain.
-- Where answers were asked for: refusal_recall of unanswerable questions, answer_recall of answerable ones, and whether the
-- answer holds every must_contain and nothing forbidden.
CREATE VIEW eval_query_metrics AS
SELECT
  run_id,
  query_id,
  lang,
  category,
  answerable,
  first_rank,
  iif(expects, coalesce(first_rank = 1, 0), NULL) AS hit_at_1,
  iif(expects, first_rank IS NOT NULL, NULL) AS hit_at_k,
  iif(expects, coalesce(1.0 / first_rank, 0), NULL) AS mrr,
  iif(expects, coalesce(dcg / ideal_dcg, 0), NULL) AS ndcg_at_10,
  iif(expects, 1.0 * docs_found / docs_expected, NULL) AS recall_at_k_doc,
  iif(expects_passages, 1.0 * passages_found / k, NULL) AS precision_at_k_chunk,
  citation_exactness,
  answer_found,
  iif(answerable, NULL, refused) AS refusal_recall,
  iif(answerable, 1 - refused, NULL) AS answer_recall,
  must_contain,
  forbidden,
  iif(refused, 1 - answerable, NULL) AS refusal_precision,
  latency_ms
FROM (
  SELECT
    r.run_id,
    r.query_id,
    u.k,
    r.result_json ->> 'lang' AS lang,
    r.result_json ->> 'category' AS category,
    r.result_json ->> 'answerable' AS answerable,
    r.result_json ->> 'expects_passages' AS expects_passages,
    r.result_json ->> 'answer_found' AS answer_found,
    r.result_json ->> '$.asked.refused' AS refused,
    r.result_json ->> '$.asked.must_contain' AS must_contain,
    r.result_json ->> '$.asked.forbidden' AS forbidden,
    r.result_json ->> 'latency_ms' AS latency_ms,
    json_array_length(r.result_json, '$.expected_grades') > 0 AS expects,
    json_array_length(r.result_json, '$.expected_grades') AS docs_expected,
    (SELECT min(h.value ->> 'rank') FROM json_each(r.result_json, '$.hits') AS h WHERE h.value ->> 'grade' > 0)
      AS first_rank,
    (
      SELECT sum((h.value ->> 'doc_grade') / log2((h.value ->> 'doc_rank') + 1))
      FROM json_each(r.result_json, '$.hits') AS h
      WHERE h.value ->> 'doc_rank' <= 10
    ) AS dcg,
    -- The grades lie in the order of the best ranking.
    (
      SELECT sum(g.value / log2(g.key + 2)) FROM json_each(r.result_json, '$.expected_grades') AS g WHERE g.key < 10
    ) AS ideal_dcg,
    (
      SELECT count(*)
      FROM json_each(r.result_json, '$.hits') AS h
      WHERE h.value ->> 'doc_rank' IS NOT NULL AND h.value ->> 'doc_grade' > 0
    ) AS docs_found,
    (SELECT count(*) FROM json_each(r.result_json, '$.hits') AS h WHERE h.value ->> 'grade' > 0) AS passages_found,
    (SELECT avg(h.value ->> 'exact') FROM json_each(r.result_json, '$.hits') AS h) AS citation_exactness
  FROM eval_query_results AS r
  JOIN eval_runs AS u USING (run_id)
);
