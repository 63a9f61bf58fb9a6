-- Hide what kept answers, conversations and evaluations hold of hidden paths; insert_hidden_paths.sql and show_answers.sql
-- have been run.
--
-- As hide.sql does for documents. A golden question that expects something hidden is hidden; of the others' hits what is
-- hidden is left out. Answers are ordered by their rowid too, which a view has only by name.
CREATE TEMP VIEW answers AS
SELECT
  rowid, trace_id, query, answer, grounded, refusal_reason, model_id, model_provider, embedding_model_id,
  embedding_dimensions, prompt_template_version, retrieval_mode, retrieval_k, score_gate, top_score, chunks_returned,
  chunks_used, citations_json, packed_chunks_json, prompt_tokens, completion_tokens, latency_ms, created_at,
  conversation_id, turn_index, search_query, evidence, calibration, settings_json, messages_json, generated_text,
  claims_json, notes_json, index_version, corpus_revision, embedding_provider, ranking_version, state, hops_json
FROM main.answers
WHERE trace_id NOT IN (SELECT h.trace_id FROM temp.hidden_answers AS h);

CREATE TEMP VIEW answer_claims AS
SELECT
  trace_id, created_at, question, claim_no, status, claim, reason, passages_json, quote, cited_path
FROM main.answer_claims
WHERE trace_id NOT IN (SELECT h.trace_id FROM temp.hidden_answers AS h);

CREATE TEMP VIEW chat_turns AS
SELECT
  turn_id, session_id, turn_index, question, answer, citations_json, created_at, search_query
FROM main.chat_turns
WHERE session_id NOT IN (SELECT h.session_id FROM temp.hidden_sessions AS h);

CREATE TEMP VIEW chat_sessions AS
SELECT
  session_id, created_at, updated_at, title, config_snapshot_json
FROM main.chat_sessions
WHERE session_id NOT IN (SELECT h.session_id FROM temp.hidden_sessions AS h);

CREATE TEMP VIEW eval_query_results AS
SELECT
  run_id,
  query_id,
  json_set(
    result_json,
    '$.hits',
    json((
      SELECT json_group_array(json(hit.value))
      FROM json_each(result_json, '$.hits') AS hit
      WHERE hit.value ->> '$.path' NOT IN (SELECT h.path FROM temp.hidden_paths AS h)
    ))
  ) AS result_json
FROM main.eval_query_results
WHERE NOT EXISTS (
  SELECT 1 FROM json_each(result_json, '$.expected') AS e JOIN temp.hidden_paths AS h ON h.path = e.key
) AND NOT EXISTS (
  SELECT 1 FROM json_each(result_json, '$.places') AS p JOIN temp.hidden_paths AS h ON h.path = p.value ->> '$.path'
);
