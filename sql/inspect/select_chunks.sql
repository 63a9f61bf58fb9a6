-- List the chunks of a document in their order.
-- returns many kb.domain.results.inspection.ChunkSummary
-- param doc_id TEXT  the document
-- column chunk_id TEXT  the chunk
-- column section_label TEXT?  its own heading
-- column source_spans_json TEXT  JSON array of spans
-- column token_estimate INTEGER  estimated embedder tokens
-- column opening TEXT  the first 60 characters of its text
SELECT chunk_id, section_label, source_spans_json, token_estimate, substr(text, 1, 60) AS opening
FROM chunks WHERE doc_id = :doc_id ORDER BY ordinal;
