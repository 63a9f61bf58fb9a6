-- Forget what made the sentence vectors: there are none.
-- version 1
DELETE FROM kv WHERE key = 'sentence_version';
