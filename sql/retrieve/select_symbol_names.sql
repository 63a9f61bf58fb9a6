-- Find the names of definitions that some words spell, however they are written.
-- version 2
-- param names_json TEXT  JSON array of names in lower case without the marks between their words
-- column name TEXT  a name as it is defined
SELECT DISTINCT s.name
FROM symbols AS s
WHERE s.folded_name IN (SELECT value FROM json_each(:names_json))
ORDER BY s.name;
