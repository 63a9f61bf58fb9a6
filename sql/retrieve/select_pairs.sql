-- Find what documents give as a word in the other script.
-- returns many Pair
-- param words_json TEXT  JSON array of the question's words, Korean ones in single jamo
-- column asked TEXT  word of the question
-- column letters TEXT  the same in the other script
-- column pairs INTEGER  how many documents say so
-- column partners INTEGER  how many words the documents give for the other one
-- column documents INTEGER  how many have it
-- column asked_documents INTEGER  how many have the word of the question
WITH
said AS (
  SELECT p.latin AS asked, p.hangul AS letters, count(*) AS pairs
  FROM json_each(:words_json) AS wanted
  JOIN document_pairs AS p ON p.latin = wanted.value
  GROUP BY p.latin, p.hangul
  UNION ALL
  SELECT p.hangul AS asked, p.latin AS letters, count(*) AS pairs
  FROM json_each(:words_json) AS wanted
  JOIN document_pairs AS p ON p.hangul = wanted.value
  GROUP BY p.hangul, p.latin
)
SELECT
  said.asked,
  said.letters,
  said.pairs,
  (
    SELECT count(DISTINCT iif(p.hangul = said.letters, p.latin, p.hangul))
    FROM document_pairs AS p
    WHERE p.hangul = said.letters OR p.latin = said.letters
  ) AS partners,
  coalesce((SELECT w.documents FROM words AS w WHERE w.letters = said.letters), 0) AS documents,
  coalesce((SELECT w.documents FROM words AS w WHERE w.letters = said.asked), 0) AS asked_documents
FROM said
ORDER BY said.asked, said.pairs DESC, said.letters;
