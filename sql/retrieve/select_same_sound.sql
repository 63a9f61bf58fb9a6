-- Find the words of the other script that have the consonants of a question's words.
-- returns many SameSound
-- param words_json TEXT  JSON array of the question's words, Korean ones in single jamo
-- param sounds_json TEXT  JSON array of [word, consonants] of words that no document has
-- column asked TEXT  word of the question
-- column letters TEXT  word of the documents
-- column documents INTEGER  how many have it
-- column asked_documents INTEGER  how many have the word of the question
WITH
heard AS (
  SELECT s.letters AS asked, s.sound
  FROM json_each(:words_json) AS wanted
  JOIN word_sounds AS s ON s.letters = wanted.value
  UNION
  SELECT value ->> 0, value ->> 1 FROM json_each(:sounds_json)
)
SELECT DISTINCT
  h.asked,
  w.letters,
  w.documents,
  coalesce((SELECT own.documents FROM words AS own WHERE own.letters = h.asked), 0) AS asked_documents
FROM heard AS h
JOIN word_sounds AS other ON other.sound = h.sound
JOIN words AS w ON w.letters = other.letters
WHERE (h.asked < 'ㄱ') <> (w.letters < 'ㄱ')
ORDER BY h.asked, w.letters;
