-- Note that what no document has was removed.
INSERT INTO kv (key, value) SELECT 'collected_revision', value FROM kv WHERE key = 'corpus_revision'
ON CONFLICT (key) DO UPDATE SET value = excluded.value;
