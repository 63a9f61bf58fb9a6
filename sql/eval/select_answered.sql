-- The questions a run has asked already.
-- returns many AnsweredRow
-- param run_id TEXT  the run
-- column query_id TEXT  the question
SELECT query_id FROM eval_query_results WHERE run_id = :run_id ORDER BY query_id;
