-- Write the statements that drop kb's views and triggers as the file has them, so that they can be rebuilt; and objects
-- that another program put in their place.
-- returns many Repeatable
-- param names_json TEXT?  JSON array of the names kb made; NULL = all, in a file that does not say
-- param own_names_json TEXT  JSON array of the views and triggers that are made next
-- column statement TEXT  one DROP statement
SELECT format('DROP %s "%w"', type, name) AS statement
FROM sqlite_schema
WHERE (type IN ('view', 'trigger') AND (:names_json IS NULL OR name IN (SELECT value FROM json_each(:names_json))))
  OR (type IN ('view', 'trigger', 'table', 'index') AND name IN (SELECT value FROM json_each(:own_names_json)))
ORDER BY type, name;
