-- Forget a tombstone: the vector is gone from both stores.
-- batch TombstoneKey
-- param lance_table TEXT  where the vector was
-- param chunk_id TEXT  the chunk that was
DELETE FROM vector_tombstones WHERE lance_table = :lance_table AND chunk_id = :chunk_id;
