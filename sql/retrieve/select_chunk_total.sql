-- Read how many chunks the index holds.
-- version 1
-- column chunks INTEGER  chunks
SELECT value AS chunks FROM kv WHERE key = 'chunk_total';
