-- Make room: forget the vectors that were not used for the longest time.
-- version 1
-- param share REAL  of all vectors, 0 to 1, rounded up
DELETE FROM vectors WHERE (text_hash, model) IN (
  SELECT text_hash, model FROM vectors
  ORDER BY used_at, text_hash
  LIMIT (SELECT CAST(ceil(:share * count(*)) AS INTEGER) FROM vectors)
);
