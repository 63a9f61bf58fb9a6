-- Read how many chunks of source code there are.
-- returns one ChunkTotal
-- column chunks INTEGER  chunks
SELECT value AS chunks FROM kv WHERE key = 'code_total';
