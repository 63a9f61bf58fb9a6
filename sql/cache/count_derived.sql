-- Count the cached results of engines.
-- version 1
-- column entries INTEGER  results
SELECT count(*) AS entries FROM derived;
