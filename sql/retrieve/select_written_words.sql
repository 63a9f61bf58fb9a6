-- Look up words with the number of documents that have each.
-- returns many WrittenWord
-- param words_json TEXT  JSON array of words, Korean ones in single jamo
-- column letters TEXT  one that documents have
-- column documents INTEGER  how many
SELECT w.letters, w.documents
FROM json_each(:words_json) AS wanted
JOIN words AS w ON w.letters = wanted.value
ORDER BY w.letters;
