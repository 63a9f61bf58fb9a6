-- Forget what a Lance table holds and what was to be removed from it, before the table goes.
-- param lance_table TEXT  the table
DELETE FROM embedding_records WHERE lance_table = :lance_table;
DELETE FROM vector_tombstones WHERE lance_table = :lance_table;
DELETE FROM kv WHERE key = 'lance_version ' || :lance_table;
