-- Each chunk as the lexical index holds it, its text in NFC and without components: nfc_text where that differs, which
-- whoever changes such a text changes with it. To insert a chunk_rowid here is to index that chunk: the triggers of chunks and a rebuild both do.
-- Chunks of source code have an index of their own.
CREATE VIEW indexed_chunks AS
SELECT
  chunk_rowid,
  chunk_id,
  doc_id,
  heading_text AS heading_path,
  coalesce(nfc_text, text) AS text,
  tokenized_korean_text,
  name_text AS name
FROM chunks
WHERE symbol_text IS NULL;
