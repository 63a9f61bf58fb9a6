-- Set what a writing connection needs; synchronous NORMAL in WAL loses at most the last commits on power loss, never integrity.
PRAGMA foreign_keys = ON;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
PRAGMA journal_size_limit = 67108864;
