-- Count the entries of a cache.
-- tables vectors, derived  what the cache holds
-- returns one CacheCount
-- column entries INTEGER  vectors, or results of engines
SELECT count(*) AS entries FROM vectors;
