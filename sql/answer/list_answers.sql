-- List the answers that were given, the newest first.
-- returns many kb.domain.results.answers.AnswerSummary
-- param row_limit INTEGER  at most so many; -1 = all
-- column trace_id TEXT  the answer
-- column created_at TEXT  RFC 3339 UTC
-- column query TEXT  the question
-- column answer TEXT  what was shown
-- column grounded INTEGER  1 = every sentence is supported
-- column refusal_reason TEXT?  why there is no answer
-- column model_id TEXT  the model that answered
-- column model_provider TEXT  who ran it
-- column conversation_id TEXT?  the session
-- column state TEXT?  answered, unsure or refused; NULL where an older kb did not say
SELECT trace_id, created_at, query, answer, grounded, refusal_reason, model_id, model_provider, conversation_id,
  state
FROM answers
ORDER BY created_at DESC, rowid DESC
LIMIT :row_limit;
