-- Make an empty table like chunks, for one connection: it stages chunks that are stored together.
CREATE TEMP TABLE IF NOT EXISTS arriving_chunks AS
SELECT
  chunk_id, doc_id, ordinal, text, heading_path_json, section_label, source_spans_json, token_estimate,
  chunker_version, policy_hash, block_ids_json, created_at, lang, heading_text, tokenized_korean_text,
  name_text, nfc_text, symbol_text, doc_text, identifier_text
FROM chunks WHERE false;
DELETE FROM temp.arriving_chunks;
