-- Read how often the corpus has changed: what a cursor was given for.
-- returns one CorpusRevision
-- column corpus_revision INTEGER  counts changes of the corpus
SELECT value AS corpus_revision
FROM kv
WHERE key = 'corpus_revision';
