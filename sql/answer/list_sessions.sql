-- List the conversations, the latest first.
-- returns many kb.domain.results.answers.Conversation
-- column session_id TEXT  its name
-- column title TEXT?  the start of its first question
-- column turn_count INTEGER  how many questions were asked
-- column created_at INTEGER  seconds since 1970
-- column updated_at INTEGER  seconds since 1970
SELECT s.session_id, s.title, count(t.turn_id) AS turn_count, s.created_at, s.updated_at
FROM chat_sessions AS s
LEFT JOIN chat_turns AS t USING (session_id)
GROUP BY s.session_id
ORDER BY s.updated_at DESC, s.session_id;
