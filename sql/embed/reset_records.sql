-- Declare vectors of a Lance table uncommitted: whatever had them has lost them.
-- param lance_table TEXT  where they are
-- param chunk_ids_json TEXT?  JSON array of their chunks; NULL = all
UPDATE embedding_records
SET status = 'pending'
WHERE lance_table = :lance_table
  AND (:chunk_ids_json IS NULL OR chunk_id IN (SELECT value FROM json_each(:chunk_ids_json)));
