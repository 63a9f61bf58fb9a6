-- Make room: forget the derived results that were not used for the longest time.
-- version 1
-- param share REAL  of all results, 0 to 1, rounded up
DELETE FROM derived WHERE (content_hash, name, engine) IN (
  SELECT content_hash, name, engine FROM derived
  ORDER BY used_at, content_hash
  LIMIT (SELECT CAST(ceil(:share * count(*)) AS INTEGER) FROM derived)
);
