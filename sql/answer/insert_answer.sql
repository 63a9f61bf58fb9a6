-- Store an answer with everything it was made from.
-- param trace_id TEXT  the answer
-- param query TEXT  the question as it was asked
-- param answer TEXT  what was shown
-- param grounded INTEGER  1 = every sentence is supported by what it cites
-- param refusal_reason TEXT?  why there is no answer
-- param model_id TEXT  the model that answered
-- param model_provider TEXT  ollama, llama_cpp or extractive
-- param embedding_model_id TEXT?  the model that searched
-- param embedding_dimensions INTEGER?  of its vectors
-- param embedding_provider TEXT?  what computed the question's vector
-- param prompt_template_version TEXT  e.g. rag-v3
-- param retrieval_mode TEXT  lexical, vector or hybrid
-- param retrieval_k INTEGER  hits asked for
-- param score_gate REAL  the evidence that was needed
-- param top_score REAL  the best hit's score
-- param chunks_returned INTEGER  hits
-- param chunks_used INTEGER  passages given to the model
-- param citations_json TEXT  JSON array
-- param packed_chunks_json TEXT?  JSON array of the passages as they were given
-- param prompt_tokens INTEGER?  of the prompt
-- param completion_tokens INTEGER?  of the answer
-- param latency_ms INTEGER?  from the question to the end of the answer
-- param created_at TEXT  RFC 3339 UTC
-- param conversation_id TEXT?  the session
-- param turn_index INTEGER?  from 0
-- param search_query TEXT  what was searched for
-- param evidence REAL?  0 to 1
-- param calibration TEXT?  channel and version of the calibration
-- param settings_json TEXT  JSON object of the settings
-- param messages_json TEXT?  JSON array of the prompt's messages
-- param generated_text TEXT?  what the model wrote, before it was checked
-- param claims_json TEXT  JSON array of the answer's sentences with their checks
-- param notes_json TEXT  JSON array of the notes shown beside the answer
-- param index_version TEXT  of the index
-- param ranking_version TEXT?  statements and weights that ranked the passages
-- param state TEXT  answered, unsure or refused
-- param hops_json TEXT  JSON array of the steps of a deep answer, [] of any other
INSERT INTO answers (
  trace_id, query, answer, grounded, refusal_reason, model_id, model_provider, embedding_model_id,
  embedding_dimensions, prompt_template_version, retrieval_mode, retrieval_k, score_gate, top_score, chunks_returned,
  chunks_used, citations_json, packed_chunks_json, prompt_tokens, completion_tokens, latency_ms, created_at,
  conversation_id, turn_index, search_query, evidence, calibration, settings_json, messages_json, generated_text,
  claims_json, notes_json, index_version, ranking_version, embedding_provider, state, hops_json, corpus_revision
) VALUES (
  :trace_id, :query, :answer, :grounded, :refusal_reason, :model_id, :model_provider, :embedding_model_id,
  :embedding_dimensions, :prompt_template_version, :retrieval_mode, :retrieval_k, :score_gate, :top_score,
  :chunks_returned, :chunks_used, :citations_json, :packed_chunks_json, :prompt_tokens, :completion_tokens,
  :latency_ms, :created_at, :conversation_id, :turn_index, :search_query, :evidence, :calibration, :settings_json,
  :messages_json, :generated_text, :claims_json, :notes_json, :index_version, :ranking_version, :embedding_provider,
  :state, nullif(:hops_json, '[]'),
  coalesce((SELECT value FROM kv WHERE key = 'corpus_revision'), 0)
);
