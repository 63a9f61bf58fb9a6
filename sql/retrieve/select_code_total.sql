-- Read how many chunks of source code there are.
-- version 1
-- column chunks INTEGER  chunks
SELECT value AS chunks FROM kv WHERE key = 'code_total';
