-- Forget what was to be removed from a Lance table, because the table goes.
-- param lance_table TEXT  the table
DELETE FROM vector_tombstones WHERE lance_table = :lance_table;
