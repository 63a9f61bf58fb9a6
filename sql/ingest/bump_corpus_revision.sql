-- Count a change of the corpus.
-- version 1
UPDATE kv SET value = value + 1 WHERE key = 'corpus_revision';
