-- The words of the documents as they are written: what a question's unknown word is compared with.

-- The distinct words of one document, a JSON array: Latin ones in lower case, Korean ones in single jamo.
CREATE TABLE document_words (
  doc_id TEXT PRIMARY KEY REFERENCES documents (doc_id) ON DELETE CASCADE,
  words_json TEXT NOT NULL
) STRICT;
-- Of all documents; kept by triggers. `letters` is what slips of the hand are counted in.
CREATE TABLE words (
  letters TEXT PRIMARY KEY,
  documents INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- A word that differs near its beginning is found by its end.
CREATE INDEX idx_words_end ON words (substr(letters, -3));
