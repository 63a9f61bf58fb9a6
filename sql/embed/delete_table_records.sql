-- Forget what a Lance table holds, before the table goes.
-- version 1
-- param lance_table TEXT  the table
DELETE FROM embedding_records WHERE lance_table = :lance_table;
