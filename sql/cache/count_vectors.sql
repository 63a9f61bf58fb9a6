-- Count the cached vectors.
-- version 1
-- column entries INTEGER  vectors
SELECT count(*) AS entries FROM vectors;
