-- File and folder names as searched words, and text that is not NFC indexed in NFC.

-- What the next ingest fills: the words of a file's name and folders with their morphemes; the text in NFC where the
-- source is written another way (macOS writes Hangul as separate letters), NULL where it is NFC as it stands.
ALTER TABLE chunks ADD COLUMN name_text TEXT NOT NULL DEFAULT '';
ALTER TABLE chunks ADD COLUMN nfc_text TEXT;

DROP TABLE chunks_fts;
CREATE VIRTUAL TABLE chunks_fts USING fts5 (
  chunk_id UNINDEXED,
  doc_id UNINDEXED,
  heading_path,
  text,
  tokenized_korean_text,
  name,
  tokenize = 'porter unicode61 remove_diacritics 2'
);

-- What `rank` means, in every program: a word of the name counts three times one of the text.
INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('rank', 'bm25(0.0, 0.0, 1.0, 1.0, 1.0, 3.0)');
INSERT INTO chunks_fts (rowid, chunk_id, doc_id, heading_path, text, tokenized_korean_text, name)
SELECT chunk_rowid, chunk_id, doc_id, heading_text, text, tokenized_korean_text, name_text
FROM chunks
ORDER BY chunk_rowid;
