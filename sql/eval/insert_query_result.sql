-- Store the hits of one question.
-- param run_id TEXT  the run
-- param query_id TEXT  the question
-- param result_json TEXT  JSON object: the question, what it expects, its hits
INSERT INTO eval_query_results (run_id, query_id, result_json) VALUES (:run_id, :query_id, :result_json);
