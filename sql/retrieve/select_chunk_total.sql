-- Read how many chunks the index holds.
-- returns one ChunkTotal
-- column chunks INTEGER  chunks
SELECT value AS chunks FROM kv WHERE key = 'chunk_total';
