-- Find which words are terms of the index, or of that of source code.
-- returns many IndexedWord
-- param words_json TEXT  JSON array of words, folded as the tokenizer folds them
-- column word TEXT  one that is
SELECT wanted.value AS word
FROM json_each(:words_json) AS wanted
WHERE EXISTS (SELECT 1 FROM chunks_vocab AS v WHERE v.term = wanted.value)
  OR EXISTS (SELECT 1 FROM code_vocab AS v WHERE v.term = wanted.value)
ORDER BY wanted.key;
