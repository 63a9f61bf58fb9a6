-- Find which words no document has as they are written, whatever form of them the lexical index holds.
-- returns many UnwrittenWord
-- param words_json TEXT  JSON array of words, Korean ones in single jamo
-- column word TEXT  one that no document has
SELECT wanted.value AS word
FROM json_each(:words_json) AS wanted
WHERE NOT EXISTS (SELECT 1 FROM words AS w WHERE w.letters = wanted.value)
ORDER BY wanted.key;
