-- Add a turn at the end of a conversation.
-- param turn_id TEXT  the turn
-- param session_id TEXT  its conversation
-- param turn_index INTEGER  from 0
-- param question TEXT  as it was asked
-- param answer TEXT  as it was shown
-- param citations_json TEXT  JSON array
-- param now INTEGER  seconds since 1970
-- param search_query TEXT  what was searched for
INSERT INTO chat_turns (turn_id, session_id, turn_index, question, answer, citations_json, created_at, search_query)
VALUES (:turn_id, :session_id, :turn_index, :question, :answer, :citations_json, :now, :search_query);
