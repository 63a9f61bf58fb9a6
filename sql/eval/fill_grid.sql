-- Fill the tables of open_grid.sql for one run and the fusion rules in question.
-- version 1
-- param settings_json TEXT  JSON array of {rule, lexical_weight, rrf_k, rrf_lexical_weight, depth}
-- param run_no INTEGER  number of the run, a hybrid one
INSERT INTO grid_settings (rule, lexical_weight, rrf_k, rrf_lexical_weight, depth)
SELECT value ->> 'rule', value ->> 'lexical_weight', value ->> 'rrf_k', value ->> 'rrf_lexical_weight', value ->> 'depth'
FROM json_each(:settings_json)
ORDER BY key;

INSERT INTO grid_questions (query_no, ideal_dcg)
SELECT
  r.result_json ->> 'query_no',
  (SELECT sum(g.value / log2(g.key + 2)) FROM json_each(r.result_json, '$.expected_grades') AS g WHERE g.key < 10)
FROM eval_query_results AS r
JOIN eval_runs AS u USING (run_id)
WHERE u.run_no = :run_no AND json_array_length(r.result_json, '$.expected_grades') > 0;

INSERT INTO grid_seen (
  depth, query_no, doc_no, chunk_no, grade, lexical_rank, vector_rank, lexical_share, vector_share
)
SELECT
  d.depth,
  c.query_no,
  c.doc_no,
  c.chunk_no,
  c.grade,
  iif(c.lexical_rank <= d.depth, c.lexical_rank, 9e99),
  -- Ranks count the candidates there are: a smaller depth closes the gaps.
  iif(
    c.vector_rank IS NULL,
    9e99,
    row_number() OVER (PARTITION BY d.depth, c.query_no ORDER BY c.vector_rank IS NULL, c.vector_rank)
  ),
  iif(c.lexical_rank <= d.depth, c.lexical_share, 0.0),
  c.vector_share
FROM (SELECT DISTINCT depth FROM grid_settings) AS d
CROSS JOIN eval_candidates AS c
WHERE c.run_no = :run_no AND (c.lexical_rank <= d.depth OR c.vector_rank <= d.depth);

INSERT INTO grid_targets (depth, query_no, doc_no, worth)
SELECT s.depth, s.query_no, s.doc_no, max(s.grade) / q.ideal_dcg
FROM grid_seen AS s
JOIN grid_questions AS q USING (query_no)
WHERE s.grade > 0
GROUP BY s.depth, s.query_no, s.doc_no;

INSERT INTO grid_rivals (
  target_no, doc_no, chunk_no, lexical_rank, vector_rank, lexical_share, vector_share, certain
)
SELECT
  t.target_no,
  iif(s.doc_no = t.doc_no, 0, s.doc_no),
  s.chunk_no,
  s.lexical_rank,
  s.vector_rank,
  s.lexical_share,
  s.vector_share,
  s.doc_no <> t.doc_no AND NOT EXISTS (
    SELECT 1
    FROM grid_seen AS own
    WHERE own.depth = t.depth AND own.query_no = t.query_no AND own.doc_no = t.doc_no
      AND (own.lexical_rank < s.lexical_rank OR own.vector_rank < s.vector_rank)
  )
FROM grid_targets AS t
CROSS JOIN grid_seen AS s ON s.depth = t.depth AND s.query_no = t.query_no
WHERE s.doc_no = t.doc_no OR NOT EXISTS (
  SELECT 1
  FROM grid_seen AS own
  WHERE own.depth = t.depth AND own.query_no = t.query_no AND own.doc_no = t.doc_no
    AND own.lexical_rank <= s.lexical_rank AND own.vector_rank <= s.vector_rank
);

UPDATE grid_targets SET
  above = (
    SELECT count(DISTINCT r.doc_no) FROM grid_rivals AS r WHERE r.target_no = grid_targets.target_no AND r.certain
  );

DELETE FROM grid_rivals
WHERE doc_no > 0 AND EXISTS (
  SELECT 1
  FROM grid_rivals AS r
  WHERE r.target_no = grid_rivals.target_no AND r.doc_no = grid_rivals.doc_no AND r.certain
);

UPDATE grid_targets SET
  contested = EXISTS (SELECT 1 FROM grid_rivals AS r WHERE r.target_no = grid_targets.target_no AND r.doc_no > 0);
