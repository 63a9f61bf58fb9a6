-- Read a conversation from its first turn.
-- returns many TurnRow
-- param session_id TEXT  the conversation
-- column turn_index INTEGER  from 0
-- column question TEXT  as it was asked
-- column answer TEXT  as it was shown
-- column citations_json TEXT  JSON array
-- column created_at INTEGER  seconds since 1970
-- column search_query TEXT  what was searched for
SELECT turn_index, question, answer, citations_json, created_at, search_query
FROM chat_turns
WHERE session_id = :session_id
ORDER BY turn_index;
