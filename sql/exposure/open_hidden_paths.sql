-- Make empty lists of the paths that are hidden, and of the answers and conversations that were made of what lies there.
CREATE TEMP TABLE IF NOT EXISTS hidden_paths (path TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TEMP TABLE IF NOT EXISTS hidden_answers (trace_id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TEMP TABLE IF NOT EXISTS hidden_sessions (session_id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
DELETE FROM temp.hidden_paths;
DELETE FROM temp.hidden_answers;
DELETE FROM temp.hidden_sessions;
