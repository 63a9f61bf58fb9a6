-- Read in how many chunks of source code each word occurs.
-- returns many CodeCount
-- param words_json TEXT  JSON array of words, folded as the tokenizer folds them
-- column position INTEGER  of the word, from 0
-- column chunks INTEGER  chunks that have it in any column
SELECT
  wanted.key AS position,
  coalesce((SELECT v.doc FROM code_vocab AS v WHERE v.term = wanted.value), 0) AS chunks
FROM json_each(:words_json) AS wanted
ORDER BY wanted.key;
