-- Forget every conversation.
-- returns changes
DELETE FROM chat_sessions;
