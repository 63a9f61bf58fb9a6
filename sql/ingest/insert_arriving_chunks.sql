-- Stage one chunk to be stored with others.
-- batch ChunkRow
-- param chunk_id TEXT  the chunk
-- param doc_id TEXT  its document
-- param ordinal INTEGER  position in the document, from 0
-- param text TEXT  verbatim piece of the source
-- param heading_path_json TEXT  JSON array of headings, outermost first, its own last
-- param section_label TEXT?  its own heading
-- param source_spans_json TEXT  JSON array of spans
-- param token_estimate INTEGER  estimated embedder tokens
-- param chunker_version TEXT  label of the chunker
-- param policy_hash TEXT  hash of the chunking policy
-- param block_ids_json TEXT  JSON array of block ids
-- param created_at TEXT  RFC 3339 UTC
-- param lang TEXT  BCP-47 language of the text
-- param heading_text TEXT  title, headings, aliases and their morphemes, as indexed
-- param tokenized_korean_text TEXT?  content morphemes separated by spaces; NULL without Hangul
-- param name_text TEXT  words of the file's name and folders and their morphemes, as indexed
-- param nfc_text TEXT?  the text in NFC and without components, as indexed; NULL where that is the text itself
-- param symbol_text TEXT?  of source code: the names it defines, whole and in words; NULL for any other chunk
-- param doc_text TEXT?  of source code: what documents the names it defines
-- param identifier_text TEXT?  of source code: the words inside the names in it
INSERT INTO temp.arriving_chunks (
  chunk_id, doc_id, ordinal, text, heading_path_json, section_label, source_spans_json, token_estimate,
  chunker_version, policy_hash, block_ids_json, created_at, lang, heading_text, tokenized_korean_text,
  name_text, nfc_text, symbol_text, doc_text, identifier_text
) VALUES (
  :chunk_id, :doc_id, :ordinal, :text, :heading_path_json, :section_label, :source_spans_json,
  :token_estimate, :chunker_version, :policy_hash, :block_ids_json, :created_at, :lang, :heading_text,
  :tokenized_korean_text, :name_text, :nfc_text, :symbol_text, :doc_text, :identifier_text
);
