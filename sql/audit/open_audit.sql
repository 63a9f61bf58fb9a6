-- Make the record of what agents were given, a separate file, so that writing it does not make readers of the index reload.
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
CREATE TABLE IF NOT EXISTS disclosures (
  disclosure_id INTEGER PRIMARY KEY AUTOINCREMENT,
  disclosed_at TEXT NOT NULL,
  client TEXT NOT NULL,
  tool TEXT NOT NULL,
  asked TEXT NOT NULL,
  places_json TEXT NOT NULL,
  tokens INTEGER NOT NULL CHECK (tokens >= 0),
  outcome TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS idx_disclosures_client ON disclosures (client, disclosure_id);
