-- Store the distinct words of a document; a trigger adds them to words.
-- param doc_id TEXT  the document
-- param words_json TEXT  JSON array of words, Korean ones in single jamo
INSERT INTO document_words (
  doc_id, words_json
) VALUES (
  :doc_id, :words_json
);
