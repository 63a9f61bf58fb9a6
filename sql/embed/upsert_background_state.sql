-- Note what the background was computed from.
-- version 1
-- param version TEXT  models and questions
INSERT INTO kv (key, value)
SELECT 'background_state', json_array(
  :version,
  (SELECT value FROM kv WHERE key = 'chunk_total'),
  (SELECT value FROM kv WHERE key = 'corpus_revision')
)
WHERE true
ON CONFLICT (key) DO UPDATE SET value = excluded.value;
