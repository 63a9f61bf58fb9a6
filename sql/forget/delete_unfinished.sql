-- Note that all was forgotten.
-- version 1
DELETE FROM schema_meta
WHERE key = 'forgetting';
