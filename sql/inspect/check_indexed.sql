-- Count the rows of the lexical index that differ from their chunks.
-- returns one DifferingRows
-- column differing INTEGER  rows of chunks_fts and code_fts
SELECT
  (
    SELECT count(*) FROM indexed_chunks AS i JOIN chunks_fts AS f ON f.rowid = i.chunk_rowid
    WHERE f.chunk_id IS NOT i.chunk_id OR f.heading_path IS NOT i.heading_path OR f.text IS NOT i.text
      OR f.tokenized_korean_text IS NOT i.tokenized_korean_text OR f.name IS NOT i.name
  ) + (
    SELECT count(*) FROM indexed_code AS i JOIN code_fts AS f ON f.rowid = i.chunk_rowid
    WHERE f.symbol IS NOT i.symbol OR f.path IS NOT i.path OR f.doc IS NOT i.doc OR f.text IS NOT i.text
      OR f.identifiers IS NOT i.identifiers OR f.tokenized_korean_text IS NOT i.tokenized_korean_text
  ) AS differing;
