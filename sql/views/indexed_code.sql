-- Each chunk of source code as its index holds it. To insert a chunk_rowid here is to index that chunk.
CREATE VIEW indexed_code AS
SELECT
  chunk_rowid,
  symbol_text AS symbol,
  name_text AS path,
  doc_text AS doc,
  coalesce(nfc_text, text) AS text,
  identifier_text AS identifiers,
  tokenized_korean_text
FROM chunks
WHERE symbol_text IS NOT NULL;
