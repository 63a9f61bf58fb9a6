-- Forget an evaluation run with all that belongs to it.
-- param run_id TEXT  the run
DELETE FROM eval_runs WHERE run_id = :run_id;
