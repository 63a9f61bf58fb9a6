-- List the blocks of a document in their order.
-- returns many kb.domain.results.inspection.BlockDetail
-- param doc_id TEXT  the document
-- column block_id TEXT  the block
-- column kind TEXT  heading, paragraph, list, code, table, quote, image_ref or audio_ref
-- column heading_path_json TEXT  JSON array of headings above, outermost first
-- column source_span_json TEXT  JSON span
-- column payload_json TEXT  JSON payload of the kind
SELECT block_id, kind, heading_path_json, source_span_json, payload_json
FROM blocks WHERE doc_id = :doc_id ORDER BY ordinal;
