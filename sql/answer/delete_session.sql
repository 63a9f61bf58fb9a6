-- Forget a conversation; its answers stay among the answers.
-- returns changes
-- param session_id TEXT  the conversation
DELETE FROM chat_sessions
WHERE session_id = :session_id;
