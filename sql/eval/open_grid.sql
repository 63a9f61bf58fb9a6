-- Temporary tables in which many fusion rules are tried on one run's candidates; fill_grid.sql fills them.
--
-- A relevant document is a target. Which documents stand above it depends on the rule only where neither is ahead in
-- both channels: those are its rivals. All rules grow with each channel's part, so nothing else need be looked at again.
-- version 1
DROP TABLE IF EXISTS temp.grid_settings;
DROP TABLE IF EXISTS temp.grid_questions;
DROP TABLE IF EXISTS temp.grid_seen;
DROP TABLE IF EXISTS temp.grid_targets;
DROP TABLE IF EXISTS temp.grid_rivals;

CREATE TEMP TABLE grid_settings (
  setting_no INTEGER PRIMARY KEY,
  rule TEXT NOT NULL CHECK (rule IN ('linear', 'rrf')),
  lexical_weight REAL NOT NULL,
  rrf_k REAL NOT NULL,
  rrf_lexical_weight REAL NOT NULL,
  depth INTEGER NOT NULL
) STRICT;

-- The questions with judgements, and the DCG of their best ranking.
CREATE TEMP TABLE grid_questions (
  query_no INTEGER PRIMARY KEY,
  ideal_dcg REAL NOT NULL
) STRICT;

-- The candidates that each depth in question leaves; a rank of 9e99 is none.
CREATE TEMP TABLE grid_seen (
  depth INTEGER NOT NULL,
  query_no INTEGER NOT NULL,
  doc_no INTEGER NOT NULL,
  chunk_no INTEGER NOT NULL,
  grade INTEGER NOT NULL,
  lexical_rank REAL NOT NULL,
  vector_rank REAL NOT NULL,
  lexical_share REAL NOT NULL,
  vector_share REAL NOT NULL,
  PRIMARY KEY (depth, query_no, doc_no, chunk_no)
) STRICT, WITHOUT ROWID;

-- The relevant documents; `above` of the others stand above it under every rule.
CREATE TEMP TABLE grid_targets (
  target_no INTEGER PRIMARY KEY,
  depth INTEGER NOT NULL,
  query_no INTEGER NOT NULL,
  doc_no INTEGER NOT NULL,
  worth REAL NOT NULL,
  above INTEGER NOT NULL DEFAULT 0,
  contested INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX temp.idx_grid_targets ON grid_targets (depth, contested);

-- Each target's own passages (doc_no 0) and those of its rivals; certain = ahead of the target in both channels.
CREATE TEMP TABLE grid_rivals (
  target_no INTEGER NOT NULL,
  doc_no INTEGER NOT NULL,
  chunk_no INTEGER NOT NULL,
  lexical_rank REAL NOT NULL,
  vector_rank REAL NOT NULL,
  lexical_share REAL NOT NULL,
  vector_share REAL NOT NULL,
  certain INTEGER NOT NULL,
  PRIMARY KEY (target_no, doc_no, chunk_no)
) STRICT, WITHOUT ROWID;
