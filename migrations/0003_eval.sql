-- Evaluation: runs of a golden set, what each question found, and the candidates its hits were chosen from.
CREATE TABLE eval_runs (
  run_id TEXT PRIMARY KEY,
  suite TEXT NOT NULL,
  config_snapshot_json TEXT NOT NULL,
  aggregate_json TEXT NOT NULL,
  commit_hash TEXT,
  created_at TEXT NOT NULL,
  run_no INTEGER NOT NULL UNIQUE,
  name TEXT,
  mode TEXT NOT NULL CHECK (mode IN ('lexical', 'vector', 'hybrid')),
  k INTEGER NOT NULL,
  questions INTEGER NOT NULL,
  -- Of the golden questions, and of the indexed files: what two runs must share to be compared.
  suite_hash TEXT NOT NULL,
  corpus_hash TEXT NOT NULL,
  corpus_revision INTEGER NOT NULL,
  versions_json TEXT NOT NULL,
  -- NULL while questions are still to be asked.
  finished_at TEXT
) STRICT;
CREATE INDEX idx_eval_runs_name ON eval_runs (name);

CREATE TABLE eval_query_results (
  run_id TEXT NOT NULL REFERENCES eval_runs (run_id) ON DELETE CASCADE,
  query_id TEXT NOT NULL,
  result_json TEXT NOT NULL,
  PRIMARY KEY (run_id, query_id)
) STRICT;

-- Every candidate of a hybrid question in its own language, with what each channel says of it: other fusion rules are
-- tried on these rows without searching again. Numbers instead of ids, because a run has a hundred rows a question.
CREATE TABLE eval_candidates (
  run_no INTEGER NOT NULL REFERENCES eval_runs (run_no) ON DELETE CASCADE,
  query_no INTEGER NOT NULL,
  doc_no INTEGER NOT NULL,
  chunk_no INTEGER NOT NULL,
  grade INTEGER NOT NULL,
  lexical_rank INTEGER,
  vector_rank INTEGER,
  lexical_share REAL NOT NULL,
  vector_share REAL NOT NULL,
  PRIMARY KEY (run_no, query_no, doc_no, chunk_no)
) STRICT, WITHOUT ROWID;
