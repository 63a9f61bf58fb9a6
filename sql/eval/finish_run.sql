-- Mark an evaluation run as whole and keep its means.
-- param aggregate_json TEXT  JSON object: the means of all questions
-- param finished_at TEXT  RFC 3339
-- param run_id TEXT  the run
UPDATE eval_runs SET aggregate_json = :aggregate_json, finished_at = :finished_at WHERE run_id = :run_id;
