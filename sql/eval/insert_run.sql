-- Begin an evaluation run; its number is the next one.
-- param run_id TEXT  the run
-- param suite TEXT  name of the golden set
-- param config_snapshot_json TEXT  JSON object: every configuration key that decides what is found
-- param commit_hash TEXT?  commit of kb's checkout; NULL = installed
-- param created_at TEXT  RFC 3339
-- param name TEXT?  what the user calls the run
-- param mode TEXT  lexical, vector or hybrid
-- param k INTEGER  hits per question
-- param questions INTEGER  questions of the suite
-- param suite_hash TEXT  of the golden questions
-- param corpus_hash TEXT  of the indexed files
-- param corpus_revision INTEGER  how often the index had changed
-- param versions_json TEXT  JSON object: what made the index and the vectors
INSERT INTO eval_runs (
  run_id, suite, config_snapshot_json, aggregate_json, commit_hash, created_at, run_no, name, mode, k, questions,
  suite_hash, corpus_hash, corpus_revision, versions_json
)
SELECT
  :run_id, :suite, :config_snapshot_json, '{}', :commit_hash, :created_at, coalesce(max(run_no), 0) + 1, :name, :mode,
  :k, :questions, :suite_hash, :corpus_hash, :corpus_revision, :versions_json
FROM eval_runs;
