-- Tag a document.
-- version 1
-- param doc_id TEXT  the document
-- param tag TEXT  without #, NFC
INSERT INTO document_tags (
  doc_id, tag
) VALUES (
  :doc_id, :tag
);
