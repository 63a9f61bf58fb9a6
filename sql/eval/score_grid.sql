-- The mean nDCG@10, over documents, of every fusion rule in question; fill_grid.sql has been run.
--
-- Questions are dealt into folds by their numbers, so that a rule is chosen on some and judged on others; as many folds
-- as there are questions give each question's own value. Passages in another language than the question's keep their
-- places and are not looked at.
-- version 1
-- param folds INTEGER  folds, at least 1
-- column setting_no INTEGER  the rule, from 1, in the order given
-- column fold INTEGER  from 0
-- column questions INTEGER  judged questions of the fold
-- column ndcg_at_10 REAL  their mean
WITH
fold_sizes AS MATERIALIZED (
  SELECT query_no % :folds AS fold, count(*) AS questions FROM grid_questions GROUP BY fold
),
-- What no rule changes.
settled AS MATERIALIZED (
  SELECT depth, query_no % :folds AS fold, sum(worth / log2(above + 2)) AS dcg
  FROM grid_targets
  WHERE contested = 0 AND above < 10
  GROUP BY depth, fold
),
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
  CROSS JOIN grid_targets AS t ON t.depth = s.depth AND t.contested = 1 AND t.above < 10
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
moving AS MATERIALIZED (
  SELECT setting_no, query_no % :folds AS fold, sum(worth / log2(rank + 1)) AS dcg
  FROM ranked
  WHERE rank <= 10
  GROUP BY setting_no, fold
)
SELECT
  s.setting_no,
  f.fold,
  f.questions,
  (coalesce(settled.dcg, 0) + coalesce(moving.dcg, 0)) / f.questions AS ndcg_at_10
FROM grid_settings AS s
CROSS JOIN fold_sizes AS f
LEFT JOIN settled ON settled.depth = s.depth AND settled.fold = f.fold
LEFT JOIN moving ON moving.setting_no = s.setting_no AND moving.fold = f.fold
ORDER BY s.setting_no, f.fold;
