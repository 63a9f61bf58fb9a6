-- Store the staged chunks in their order; a trigger indexes each.
-- One statement for all: FTS5 writes out what it has gathered at the start of each statement that fires a trigger.
INSERT INTO chunks (
  chunk_id, doc_id, ordinal, text, heading_path_json, section_label, source_spans_json, token_estimate,
  chunker_version, policy_hash, block_ids_json, created_at, lang, heading_text, tokenized_korean_text,
  name_text, nfc_text, symbol_text, doc_text, identifier_text
)
SELECT
  chunk_id, doc_id, ordinal, text, heading_path_json, section_label, source_spans_json, token_estimate,
  chunker_version, policy_hash, block_ids_json, created_at, lang, heading_text, tokenized_korean_text,
  name_text, nfc_text, symbol_text, doc_text, identifier_text
FROM temp.arriving_chunks ORDER BY rowid;
DELETE FROM temp.arriving_chunks;
