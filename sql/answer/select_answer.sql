-- Read everything stored of one answer.
-- returns one AnswerRow
-- param trace_id TEXT  the answer
-- column trace_id TEXT  the answer
-- column query TEXT  the question as it was asked
-- column answer TEXT  what was shown
-- column grounded INTEGER  1 = every sentence is supported by what it cites
-- column refusal_reason TEXT?  why there is no answer
-- column model_id TEXT  the model that answered
-- column model_provider TEXT  ollama, llama_cpp or extractive
-- column embedding_model_id TEXT?  the model that searched
-- column embedding_dimensions INTEGER?  of its vectors
-- column prompt_template_version TEXT  e.g. rag-v3
-- column retrieval_mode TEXT  lexical, vector or hybrid
-- column retrieval_k INTEGER  hits asked for
-- column score_gate REAL  the evidence that was needed
-- column top_score REAL  the best hit's score
-- column chunks_returned INTEGER  hits
-- column chunks_used INTEGER  passages given to the model
-- column citations_json TEXT  JSON array
-- column packed_chunks_json TEXT?  JSON array of the passages as they were given
-- column prompt_tokens INTEGER?  of the prompt
-- column completion_tokens INTEGER?  of the answer
-- column latency_ms INTEGER?  from the question to the end of the answer
-- column created_at TEXT  RFC 3339 UTC
-- column conversation_id TEXT?  the session
-- column turn_index INTEGER?  from 0
-- column search_query TEXT  what was searched for
-- column evidence REAL?  0 to 1
-- column calibration TEXT?  channel and version of the calibration
-- column settings_json TEXT  JSON object of the settings
-- column messages_json TEXT?  JSON array of the prompt's messages
-- column generated_text TEXT?  what the model wrote, before it was checked
-- column claims_json TEXT  JSON array of the answer's sentences with their checks
-- column notes_json TEXT  JSON array of the notes shown beside the answer
-- column index_version TEXT  of the index
-- column ranking_version TEXT?  statements and weights that ranked the passages; NULL in answers from before it was kept
-- column embedding_provider TEXT?  what computed the question's vector
-- column state TEXT  answered, unsure or refused; where an older kb did not say, no answer is sure
-- column hops_json TEXT?  JSON array of the steps of a deep answer; NULL where it was one
-- column corpus_revision INTEGER  of the knowledge base when it was asked
SELECT
  trace_id, query, answer, grounded, refusal_reason, model_id, model_provider, embedding_model_id,
  embedding_dimensions, prompt_template_version, retrieval_mode, retrieval_k, score_gate, top_score, chunks_returned,
  chunks_used, citations_json, packed_chunks_json, prompt_tokens, completion_tokens, latency_ms, created_at,
  conversation_id, turn_index, search_query, evidence, calibration, settings_json, messages_json, generated_text,
  claims_json, notes_json, index_version, ranking_version, embedding_provider,
  coalesce(state, iif(refusal_reason IS NULL, 'unsure', 'refused')) AS state, hops_json, corpus_revision
FROM answers
WHERE trace_id = :trace_id;
