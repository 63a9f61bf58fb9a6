-- How each fusion rule in question ranks each judged question of a run; fill_grid.sql has been run for it.
--
-- As score_grid.sql, question by question. Documents that no rule finds have no rank.
-- version 1
-- param run_no INTEGER  number of the run
-- column setting_no INTEGER  the rule, from 1, in the order given
-- column query_id TEXT  the question
-- column query TEXT  its words
-- column lang TEXT?  its language
-- column category TEXT?  its category
-- column ndcg_at_10 REAL  over documents
-- column recall_at_10 REAL  share of the expected documents among the first ten
-- column first_rank INTEGER?  rank of the first relevant document
WITH
own AS MATERIALIZED (
  SELECT
    s.setting_no,
    s.rule,
    s.lexical_weight,
    s.rrf_k,
    s.rrf_lexical_weight,
    t.target_no,
    t.query_no,
    t.worth,
    t.above,
    max(
      iif(
        s.rule = 'linear',
        s.lexical_weight * r.lexical_share + (1 - s.lexical_weight) * r.vector_share,
        s.rrf_lexical_weight / (s.rrf_k + r.lexical_rank) + 1 / (s.rrf_k + r.vector_rank)
      )
    ) AS score
  FROM grid_settings AS s
  CROSS JOIN grid_targets AS t ON t.depth = s.depth
  CROSS JOIN grid_rivals AS r ON r.target_no = t.target_no AND r.doc_no = 0
  GROUP BY s.setting_no, t.target_no
),
ranked AS MATERIALIZED (
  SELECT
    own.setting_no,
    own.query_no,
    own.worth,
    1 + own.above + (
      SELECT count(*)
      FROM (
        SELECT r.doc_no
        FROM grid_rivals AS r
        WHERE r.target_no = own.target_no AND r.doc_no > 0
        GROUP BY r.doc_no
        HAVING max(
          iif(
            own.rule = 'linear',
            own.lexical_weight * r.lexical_share + (1 - own.lexical_weight) * r.vector_share,
            own.rrf_lexical_weight / (own.rrf_k + r.lexical_rank) + 1 / (own.rrf_k + r.vector_rank)
          )
        ) > own.score
      )
    ) AS rank
  FROM own
),
found AS (
  SELECT
    setting_no,
    query_no,
    sum(iif(rank <= 10, worth / log2(rank + 1), 0)) AS ndcg,
    sum(rank <= 10) AS documents,
    min(rank) AS first_rank
  FROM ranked
  GROUP BY setting_no, query_no
),
questions AS MATERIALIZED (
  SELECT
    r.query_id,
    r.result_json ->> 'query_no' AS query_no,
    r.result_json ->> 'query' AS query,
    r.result_json ->> 'lang' AS lang,
    r.result_json ->> 'category' AS category,
    json_array_length(r.result_json, '$.expected_grades') AS expected
  FROM eval_query_results AS r
  JOIN eval_runs AS u USING (run_id)
  WHERE u.run_no = :run_no AND json_array_length(r.result_json, '$.expected_grades') > 0
)
SELECT
  s.setting_no,
  q.query_id,
  q.query,
  q.lang,
  q.category,
  coalesce(f.ndcg, 0.0) AS ndcg_at_10,
  coalesce(1.0 * f.documents / q.expected, 0.0) AS recall_at_10,
  f.first_rank
FROM grid_settings AS s
CROSS JOIN questions AS q
LEFT JOIN found AS f ON f.setting_no = s.setting_no AND f.query_no = q.query_no
ORDER BY s.setting_no, q.query_no;
