-- Make the record of what agents were given, a file of its own: writing it must not make readers of the index look again.
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
