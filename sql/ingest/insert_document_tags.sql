-- Tag a document.
-- batch TagRow
-- param doc_id TEXT  the document
-- param tag TEXT  without #, NFC
INSERT INTO document_tags (
  doc_id, tag
) VALUES (
  :doc_id, :tag
);
