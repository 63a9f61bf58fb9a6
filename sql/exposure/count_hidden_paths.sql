-- Count the hidden paths of a connection.
-- version 1
-- column hidden INTEGER  paths
SELECT count(*) AS hidden
FROM temp.hidden_paths;
