-- Answers: all that went into each and came out of it, the conversations they belong to, and what evidence is judged by.

CREATE TABLE answers (
  trace_id TEXT PRIMARY KEY,
  query TEXT NOT NULL,
  answer TEXT NOT NULL,
  grounded INTEGER NOT NULL CHECK (grounded IN (0, 1)),
  refusal_reason TEXT CHECK (
    refusal_reason IN ('score_gate', 'llm_self_judge', 'no_index', 'no_chunks', 'llm_stream_aborted')
  ),
  model_id TEXT NOT NULL,
  model_provider TEXT NOT NULL,
  embedding_model_id TEXT,
  embedding_dimensions INTEGER,
  prompt_template_version TEXT NOT NULL,
  retrieval_mode TEXT NOT NULL CHECK (retrieval_mode IN ('lexical', 'vector', 'hybrid')),
  retrieval_k INTEGER NOT NULL,
  score_gate REAL NOT NULL,
  top_score REAL NOT NULL,
  chunks_returned INTEGER NOT NULL,
  chunks_used INTEGER NOT NULL,
  citations_json TEXT NOT NULL,
  packed_chunks_json TEXT,
  prompt_tokens INTEGER,
  completion_tokens INTEGER,
  latency_ms INTEGER,
  created_at TEXT NOT NULL,
  -- Beyond the columns above: the conversation, what was searched for, the evidence, and the text before it was checked.
  conversation_id TEXT,
  turn_index INTEGER,
  search_query TEXT NOT NULL,
  evidence REAL,
  calibration TEXT,
  settings_json TEXT NOT NULL,
  messages_json TEXT,
  generated_text TEXT,
  claims_json TEXT NOT NULL,
  notes_json TEXT NOT NULL,
  index_version TEXT NOT NULL,
  corpus_revision INTEGER NOT NULL
) STRICT;
CREATE INDEX idx_answers_created_at ON answers (created_at);
CREATE INDEX idx_answers_grounded ON answers (grounded);

CREATE TABLE chat_sessions (
  session_id TEXT PRIMARY KEY NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  title TEXT,
  config_snapshot_json TEXT NOT NULL
) STRICT;

CREATE TABLE chat_turns (
  turn_id TEXT PRIMARY KEY NOT NULL,
  session_id TEXT NOT NULL REFERENCES chat_sessions (session_id) ON DELETE CASCADE,
  turn_index INTEGER NOT NULL,
  question TEXT NOT NULL,
  answer TEXT NOT NULL,
  citations_json TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  search_query TEXT NOT NULL,
  UNIQUE (session_id, turn_index)
) STRICT;
CREATE INDEX idx_chat_turns_session ON chat_turns (session_id, turn_index);

-- The evidence that passages answer a question is 1 / (1 + exp(-z)), z = bias + Σ weight · feature (sql/answer/
-- score_evidence.sql). A channel is judged by the row fitted on the owner's own questions, where there is one.
CREATE TABLE evidence_calibrations (
  channel TEXT NOT NULL CHECK (channel IN ('own', 'cross', 'lexical')),
  origin TEXT NOT NULL CHECK (origin IN ('shipped', 'fitted')),
  version TEXT NOT NULL,
  bias REAL NOT NULL,
  lexical REAL NOT NULL,
  lexical_margin REAL NOT NULL,
  nearness REAL NOT NULL,
  usual_cosine REAL NOT NULL,
  fitted_on TEXT NOT NULL,
  questions INTEGER NOT NULL,
  updated_at TEXT NOT NULL,
  PRIMARY KEY (channel, origin)
) STRICT;

-- `python -m benchmarks refusal` fits these again; docs/answers.md has the figures, and how each language's fit does on
-- the other.
INSERT INTO evidence_calibrations (
  channel, origin, version, bias, lexical, lexical_margin, nearness, usual_cosine, fitted_on, questions, updated_at
) VALUES
  ('own', 'shipped', 'own-1', -10.64, 11.50, 10.11, 78.66, 0.765,
    'KorQuAD 1.0 dev and SQuAD 2.0 dev, 25-30 % of the articles left out', 2308, '2026-11-22T00:00:00Z'),
  ('lexical', 'shipped', 'lexical-1', -6.43, 16.47, 12.03, 0.0, 0.765,
    'KorQuAD 1.0 dev and SQuAD 2.0 dev, 25-30 % of the articles left out', 2308, '2026-11-22T00:00:00Z'),
  ('cross', 'shipped', 'cross-1', -5.65, 0.0, 0.0, 80.33, 0.765,
    'FastAPI manual in Korean and English, pages left out; KorQuAD and SQuAD asked of the other', 879,
    '2026-11-22T00:00:00Z');
