-- Note that all was forgotten.
DELETE FROM schema_meta
WHERE key = 'forgetting';
