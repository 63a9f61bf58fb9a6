-- One row per hit of an evaluation run: its place and its grades.
--
-- grade is that of the passage, doc_grade that of its document; doc_rank is empty where a better hit of the same
-- document is above. exact says whether the cited lines hold the passage, word for word and no line more.
CREATE VIEW eval_hits AS
SELECT
  r.run_id,
  r.query_id,
  h.value ->> 'rank' AS rank,
  h.value ->> 'citation' AS citation,
  h.value ->> 'path' AS workspace_path,
  h.value ->> 'chunk_id' AS chunk_id,
  h.value ->> 'score' AS score,
  h.value ->> 'lexical_rank' AS lexical_rank,
  h.value ->> 'vector_rank' AS vector_rank,
  h.value ->> 'grade' AS grade,
  h.value ->> 'doc_rank' AS doc_rank,
  h.value ->> 'doc_grade' AS doc_grade,
  h.value ->> 'exact' AS exact
FROM eval_query_results AS r
JOIN json_each(r.result_json, '$.hits') AS h;
