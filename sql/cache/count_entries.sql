-- Count what a cache keeps.
-- version 1
-- tables vectors, derived  what the cache holds
-- column entries INTEGER  vectors, or results of engines
SELECT count(*) AS entries FROM vectors;
