-- Find the names of definitions that some words spell, however they are written.
-- returns many SymbolName
-- param names_json TEXT  JSON array of names in lower case without the marks between their words
-- param objects_json TEXT  JSON array of the kinds that are objects
-- column name TEXT  a name as it is defined
-- column kind TEXT?  of an object its kind; NULL of any other definition
-- column qualified TEXT?  of an object its name in full
SELECT DISTINCT
  s.name,
  CASE WHEN o.value IS NOT NULL THEN s.kind END AS kind,
  CASE WHEN o.value IS NOT NULL THEN s.qualified_name END AS qualified
FROM symbols AS s
LEFT JOIN json_each(:objects_json) AS o ON o.value = s.kind
WHERE s.folded_name IN (SELECT value FROM json_each(:names_json))
ORDER BY s.name, kind, qualified;
