-- Read the hits of every question of a run.
-- returns many ResultRow
-- param run_id TEXT  the run
-- column query_id TEXT  the question
-- column result_json TEXT  JSON object: the question, what it expects, its hits
SELECT query_id, result_json FROM eval_query_results WHERE run_id = :run_id ORDER BY query_id;
