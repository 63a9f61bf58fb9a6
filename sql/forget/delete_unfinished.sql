-- Note that a forget run is complete.
DELETE FROM schema_meta
WHERE key = 'forgetting';
