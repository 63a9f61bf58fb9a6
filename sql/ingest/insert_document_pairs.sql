-- Store the words that a document gives in both scripts.
-- param doc_id TEXT  the document
-- param pairs_json TEXT  JSON array of [Hangul word in single jamo, Latin word]
INSERT INTO document_pairs (doc_id, hangul, latin)
SELECT :doc_id, value ->> 0, value ->> 1 FROM json_each(:pairs_json);
