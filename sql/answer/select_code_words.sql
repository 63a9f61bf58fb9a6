-- Read which of a question's words a chunk of source code has, and in how many chunks each is.
-- returns many CodeWord
-- param words_json TEXT  JSON array of [word as the tokenizer folds it, word]
-- param chunk_rowid INTEGER  the chunk
-- column position INTEGER  of the word, from 0
-- column chunks INTEGER  chunks that have it in any column
-- column is_held INTEGER  1 where this chunk has it
SELECT
  wanted.key AS position,
  coalesce((SELECT v.doc FROM code_vocab AS v WHERE v.term = wanted.value ->> 0), 0) AS chunks,
  EXISTS (
    SELECT 1 FROM code_fts AS f WHERE f.code_fts MATCH '"' || (wanted.value ->> 1) || '"' AND f.rowid = :chunk_rowid
  ) AS is_held
FROM json_each(:words_json) AS wanted
ORDER BY wanted.key;
