-- Read the statements that made some tables, indexes, views and triggers.
-- returns many MadeStatement
-- param names_json TEXT  JSON array of their names
-- column statement TEXT  as it was given
SELECT sql AS statement
FROM sqlite_schema
WHERE sql IS NOT NULL AND name IN (SELECT value FROM json_each(:names_json))
ORDER BY type, name;
