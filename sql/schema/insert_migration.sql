-- Record that a migration was applied.
-- param id INTEGER  the migration's number
-- param applied_at TEXT  RFC 3339 UTC
-- param description TEXT  the words of its file name
INSERT INTO migrations (id, applied_at, description) VALUES (:id, :applied_at, :description);
