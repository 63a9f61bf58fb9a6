-- Read the tokens of passages with the text that they were made from, so many at random.
-- returns many SampledTokens
-- param model_id TEXT  the model
-- param row_limit INTEGER  how many
-- column title TEXT  of the document
-- column heading_path_json TEXT  JSON array of headings above the chunk
-- column text TEXT  of the chunk
-- column count INTEGER  rows
-- column components INTEGER  numbers of a row
-- column bits INTEGER  of a number
-- column tokens BLOB  the rows, then the scale of each
SELECT d.title, c.heading_path_json, c.text, t.count, t.components, t.bits, t.tokens
FROM (
  SELECT k.chunk_rowid FROM chunk_tokens AS k WHERE k.model_id = :model_id ORDER BY random() LIMIT :row_limit
) AS s
JOIN chunk_tokens AS t ON t.chunk_rowid = s.chunk_rowid AND t.model_id = :model_id
JOIN chunks AS c ON c.chunk_rowid = t.chunk_rowid
JOIN documents AS d USING (doc_id)
ORDER BY t.chunk_rowid;
