-- Let a connection see all answers, conversations and evaluations again.
DROP VIEW IF EXISTS temp.answers;
DROP VIEW IF EXISTS temp.answer_claims;
DROP VIEW IF EXISTS temp.chat_turns;
DROP VIEW IF EXISTS temp.chat_sessions;
DROP VIEW IF EXISTS temp.eval_query_results;
