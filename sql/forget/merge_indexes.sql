-- Rewrite the lexical indexes without the words of deleted rows, which they keep until then.
INSERT INTO chunks_fts (chunks_fts) VALUES ('optimize');
INSERT INTO code_fts (code_fts) VALUES ('optimize');
DELETE FROM common_terms
WHERE NOT EXISTS (SELECT 1 FROM chunks_vocab AS v WHERE v.term = common_terms.term);
