-- Forget a conversation; its answers stay among the answers.
-- version 1
-- param session_id TEXT  the conversation
DELETE FROM chat_sessions
WHERE session_id = :session_id;
