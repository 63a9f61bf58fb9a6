-- Count again the words that many chunks contain.
-- param least_chunks INTEGER  words in at least so many chunks
DELETE FROM common_terms;
INSERT INTO common_terms (term, chunks) SELECT term, doc FROM chunks_vocab WHERE doc >= :least_chunks;
UPDATE kv SET value = (SELECT value FROM kv WHERE key = 'chunk_total') WHERE key = 'common_terms_chunks';
