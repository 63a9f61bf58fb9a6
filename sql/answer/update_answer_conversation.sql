-- Make an answer the first turn of a conversation.
-- param trace_id TEXT  the answer
-- param session_id TEXT  the conversation
UPDATE answers
SET conversation_id = :session_id, turn_index = 0
WHERE trace_id = :trace_id;
