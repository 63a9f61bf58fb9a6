-- Count the hidden paths of a connection.
-- returns one HiddenCount
-- column hidden INTEGER  paths
SELECT count(*) AS hidden
FROM temp.hidden_paths;
