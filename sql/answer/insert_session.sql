-- Begin a conversation, or note that it goes on.
-- param session_id TEXT  the name its owner gave it
-- param now INTEGER  seconds since 1970
-- param title TEXT  the start of its first question
-- param config_snapshot_json TEXT  JSON object of the settings it began with
INSERT INTO chat_sessions (session_id, created_at, updated_at, title, config_snapshot_json)
VALUES (:session_id, :now, :now, :title, :config_snapshot_json)
ON CONFLICT (session_id) DO UPDATE SET updated_at = excluded.updated_at;
