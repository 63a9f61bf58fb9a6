-- Make room: delete the least recently used entries.
-- tables vectors, derived  what the cache holds
-- returns changes
-- param share REAL  of all entries, 0 to 1, rounded up
DELETE FROM vectors WHERE rowid IN (
  SELECT rowid FROM vectors
  ORDER BY used_at, rowid
  LIMIT (SELECT CAST(ceil(:share * count(*)) AS INTEGER) FROM vectors)
);
