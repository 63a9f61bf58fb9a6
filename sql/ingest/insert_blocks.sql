-- Store one block.
-- batch BlockRow
-- param block_id TEXT  the block
-- param doc_id TEXT  its document
-- param kind TEXT  heading, paragraph, list, code, table, quote, image_ref or audio_ref
-- param heading_path_json TEXT  JSON array of headings above, outermost first
-- param ordinal INTEGER  position in the document, from 0
-- param source_span_json TEXT  JSON span, lines from 1, both ends included
-- param payload_json TEXT  JSON payload of the kind
INSERT INTO blocks (
  block_id, doc_id, kind, heading_path_json, ordinal, source_span_json, payload_json
) VALUES (
  :block_id, :doc_id, :kind, :heading_path_json, :ordinal, :source_span_json, :payload_json
);
