-- Forget what a Lance table holds, before the table goes.
-- param lance_table TEXT  the table
DELETE FROM embedding_records WHERE lance_table = :lance_table;
