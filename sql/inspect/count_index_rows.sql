-- Count rows whose numbers must agree: chunks and their index rows, contents and the documents that have them.
-- returns one IndexCounts
-- column chunks INTEGER  rows of chunks
-- column fts_rows INTEGER  rows of chunks_fts and of code_fts
-- column fts_missing INTEGER  chunks without a row in either
-- column orphan_assets INTEGER  contents that no document has
-- column korean_missing INTEGER  chunks with Hangul but without morphemes
SELECT
  (SELECT count(*) FROM chunks) AS chunks,
  (SELECT count(*) FROM chunks_fts_docsize) + (SELECT count(*) FROM code_fts_docsize) AS fts_rows,
  (SELECT count(*) FROM chunks AS c WHERE NOT EXISTS (
    SELECT 1 FROM chunks_fts_docsize AS s WHERE s.id = c.chunk_rowid
  ) AND NOT EXISTS (SELECT 1 FROM code_fts_docsize AS s WHERE s.id = c.chunk_rowid)) AS fts_missing,
  (SELECT count(*) FROM assets AS a WHERE NOT EXISTS (
    SELECT 1 FROM documents AS d WHERE d.asset_id = a.asset_id
  )) AS orphan_assets,
  (SELECT count(*) FROM chunks
    WHERE coalesce(nfc_text, text) GLOB '*[가-힣]*' AND tokenized_korean_text IS NULL) AS korean_missing;
