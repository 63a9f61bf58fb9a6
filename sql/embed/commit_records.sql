-- Declare vectors committed: they are in both stores.
-- version 1
-- param lance_table TEXT  where they are
-- param chunk_ids_json TEXT  JSON array of chunks
UPDATE embedding_records SET status = 'committed'
WHERE lance_table = :lance_table AND chunk_id IN (SELECT value FROM json_each(:chunk_ids_json));
