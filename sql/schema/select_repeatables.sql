-- Write the statements that drop kb's views and triggers as they stand, so that they can be made anew.
-- version 1
-- column statement TEXT  one DROP statement
SELECT format('DROP %s "%w"', type, name) AS statement
FROM sqlite_schema
WHERE type IN ('view', 'trigger')
ORDER BY type, name;
