-- Long work: what it is to do, how far it is, how it ended. Shown by the view jobs.

-- outcome: NULL until it has ended; a process that was killed never sets it. updated_at: its last sign of life.
CREATE TABLE job_records (
  job_id TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('ingest', 'watch', 'embedding', 'evaluation')),
  payload_json TEXT NOT NULL,
  progress_json TEXT,
  error_json TEXT,
  outcome TEXT CHECK (outcome IN ('succeeded', 'failed', 'canceled')),
  process_id INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  finished_at TEXT
) STRICT, WITHOUT ROWID;
