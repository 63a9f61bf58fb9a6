-- Find the words of some length that begin or end as a word does: those that may be meant where it is misspelled elsewhere.
-- returns many WrittenWord
-- param first TEXT  what they begin with
-- param after TEXT  the first string behind all that begin so
-- param last TEXT  the three letters they end in
-- param least INTEGER  fewest letters
-- param most INTEGER  most letters
-- column letters TEXT  one that documents have
-- column documents INTEGER  how many
SELECT w.letters AS letters, w.documents AS documents
FROM words AS w
WHERE w.letters >= :first AND w.letters < :after AND length(w.letters) BETWEEN :least AND :most
UNION
SELECT w.letters, w.documents
FROM words AS w
WHERE substr(w.letters, -3) = :last AND length(w.letters) BETWEEN :least AND :most
ORDER BY letters;
