-- What the same word is in the other script: by its sound, and as the documents themselves say.

-- The consonants that a word of `words` is heard with; kept by a trigger where the word goes.
CREATE TABLE word_sounds (
  letters TEXT NOT NULL,
  sound TEXT NOT NULL,
  PRIMARY KEY (letters, sound)
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_word_sounds_sound ON word_sounds (sound);

-- Pairs that a document writes behind each other: 쿠버네티스(Kubernetes). The Hangul in single jamo.
CREATE TABLE document_pairs (
  doc_id TEXT NOT NULL REFERENCES documents (doc_id) ON DELETE CASCADE,
  hangul TEXT NOT NULL,
  latin TEXT NOT NULL,
  PRIMARY KEY (doc_id, hangul, latin)
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_document_pairs_hangul ON document_pairs (hangul);
CREATE INDEX idx_document_pairs_latin ON document_pairs (latin);
