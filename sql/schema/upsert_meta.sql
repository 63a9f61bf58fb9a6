-- Set one value of schema_meta.
-- param key TEXT  the name
-- param value TEXT  the value
INSERT INTO schema_meta (key, value) VALUES (:key, :value)
ON CONFLICT (key) DO UPDATE SET value = excluded.value;
