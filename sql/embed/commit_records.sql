-- Declare vectors committed: they are in Lance, and in the mirror where one follows that table.
-- param lance_table TEXT  where they are
-- param chunk_ids_json TEXT  JSON array of chunks
-- param passage_version TEXT?  form of the text they were made from; NULL = as announced
UPDATE embedding_records
SET status = 'committed', passage_version = coalesce(:passage_version, passage_version)
WHERE lance_table = :lance_table AND chunk_id IN (SELECT value FROM json_each(:chunk_ids_json));
