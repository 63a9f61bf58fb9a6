-- Read the oldest version of a Lance table that has all that was written; no row where none was noted.
-- returns one LanceVersion
-- param lance_table TEXT  the table
-- column version INTEGER  the version
SELECT value AS version FROM kv WHERE key = 'lance_version ' || :lance_table;
