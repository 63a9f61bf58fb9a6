-- All evaluation runs, the newest first.
-- returns many kb.domain.results.evaluation.EvalRun
-- column run_id TEXT  the run
-- column run_no INTEGER  its number, counted from 1
-- column name TEXT?  what the user calls it
-- column suite TEXT  name of the golden set
-- column mode TEXT  lexical, vector or hybrid
-- column k INTEGER  hits per question
-- column questions INTEGER  questions of the suite
-- column answered INTEGER  questions asked so far
-- column suite_hash TEXT  of the golden questions
-- column corpus_hash TEXT  of the indexed files
-- column corpus_revision INTEGER  how often the index had changed
-- column config_snapshot_json TEXT  JSON object: every configuration key that decides what is found
-- column versions_json TEXT  JSON object: what made the index and the vectors
-- column aggregate_json TEXT  JSON object: the means of all questions; empty until the run is whole
-- column commit_hash TEXT?  commit of kb's checkout
-- column created_at TEXT  RFC 3339
-- column finished_at TEXT?  RFC 3339; NULL = not whole
SELECT
  u.run_id,
  u.run_no,
  u.name,
  u.suite,
  u.mode,
  u.k,
  u.questions,
  (SELECT count(*) FROM eval_query_results AS r WHERE r.run_id = u.run_id) AS answered,
  u.suite_hash,
  u.corpus_hash,
  u.corpus_revision,
  u.config_snapshot_json,
  u.versions_json,
  u.aggregate_json,
  u.commit_hash,
  u.created_at,
  u.finished_at
FROM eval_runs AS u
ORDER BY u.run_no DESC;
