-- Make an empty list of hidden documents, for one connection, and tables for the counts without them.
CREATE TEMP TABLE IF NOT EXISTS hidden_documents (doc_id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TEMP TABLE IF NOT EXISTS hidden_units (
  surface TEXT NOT NULL,
  morphemes TEXT NOT NULL,
  occurrences INTEGER NOT NULL,
  PRIMARY KEY (surface, morphemes)
) STRICT, WITHOUT ROWID;
CREATE TEMP TABLE IF NOT EXISTS shown_counts (key TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
DELETE FROM temp.hidden_documents;
DELETE FROM temp.hidden_units;
DELETE FROM temp.shown_counts;
