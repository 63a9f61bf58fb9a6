-- Show what made the sentence vectors.
-- version 1
-- column version TEXT  model, its version, and how texts are cut into sentences
SELECT value AS version FROM kv WHERE key = 'sentence_version';
