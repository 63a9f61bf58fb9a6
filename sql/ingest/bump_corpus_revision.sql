-- Count a change of the corpus.
UPDATE kv SET value = value + 1 WHERE key = 'corpus_revision';
