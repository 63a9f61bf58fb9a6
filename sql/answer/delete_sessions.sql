-- Forget every conversation.
-- version 1
DELETE FROM chat_sessions;
