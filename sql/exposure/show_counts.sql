-- Let a connection read the counts and the corpus revision of what it sees, instead of those of all documents.
CREATE TEMP VIEW IF NOT EXISTS kv AS
SELECT key, coalesce((SELECT s.value FROM temp.shown_counts AS s WHERE s.key = k.key), k.value) AS value
FROM main.kv AS k;
