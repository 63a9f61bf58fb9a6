-- Read in how many chunks each term of a question occurs: from common_terms where it stands there, else from the index.
-- version 1
-- param terms_json TEXT  JSON array of [FTS5 string, token as indexed or null for a prefix]
-- column position INTEGER  of the term, from 0
-- column chunks INTEGER  chunks that have the term in any column
SELECT
  term.key AS position,
  coalesce(
    (SELECT t.chunks FROM common_terms AS t WHERE t.term = term.value ->> 1),
    iif(
      term.value ->> 1 IS NULL,
      (SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH (term.value ->> 0)),
      (SELECT v.doc FROM chunks_vocab AS v WHERE v.term = term.value ->> 1)
    ),
    0
  ) AS chunks
FROM json_each(:terms_json) AS term
ORDER BY term.key;
