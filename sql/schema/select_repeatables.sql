-- Write the statements that drop kb's views and triggers as they stand, so that they can be rebuilt.
-- version 2
-- param names_json TEXT?  JSON array of the names kb made; NULL = all, in a file that does not say
-- column statement TEXT  one DROP statement
SELECT format('DROP %s "%w"', type, name) AS statement
FROM sqlite_schema
WHERE type IN ('view', 'trigger') AND (:names_json IS NULL OR name IN (SELECT value FROM json_each(:names_json)))
ORDER BY type, name;
