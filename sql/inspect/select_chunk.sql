-- Read all that is stored of one chunk.
-- returns one kb.domain.results.inspection.ChunkInspection
-- param chunk_id TEXT  the chunk
-- column chunk_id TEXT  the chunk
-- column doc_id TEXT  its document
-- column workspace_path TEXT  path below the workspace root
-- column heading_path_json TEXT  JSON array of headings, outermost first
-- column section_label TEXT?  its own heading
-- column text TEXT  verbatim piece of the source
-- column source_spans_json TEXT  JSON array of spans
-- column block_ids_json TEXT  JSON array of block ids
-- column token_estimate INTEGER  estimated embedder tokens
-- column chunker_version TEXT  label of the chunker
-- column policy_hash TEXT  hash of the chunking policy
-- column lang TEXT  BCP-47 language of the text
-- column heading_text TEXT  title, headings, aliases and their morphemes, as indexed
-- column tokenized_korean_text TEXT?  content morphemes, as indexed
-- column name_text TEXT  words of the file's name and folders and their morphemes, as indexed
SELECT
  c.chunk_id, c.doc_id, d.workspace_path, c.heading_path_json, c.section_label, c.text, c.source_spans_json,
  c.block_ids_json, c.token_estimate, c.chunker_version, c.policy_hash, c.lang, c.heading_text,
  c.tokenized_korean_text, c.name_text
FROM chunks AS c
JOIN documents AS d USING (doc_id)
WHERE c.chunk_id = :chunk_id;
