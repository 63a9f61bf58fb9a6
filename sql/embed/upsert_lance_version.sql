-- Note which version of a Lance table has all that was written: an older one is none of this knowledge base's any more.
-- param lance_table TEXT  the table
-- param version INTEGER  its version
INSERT INTO kv (key, value) VALUES ('lance_version ' || :lance_table, :version)
ON CONFLICT (key) DO UPDATE SET value = excluded.value;
