-- Keep one candidate of a question.
-- version 1
-- param run_no INTEGER  number of the run
-- param query_no INTEGER  number of the question in its suite, from 1
-- param doc_no INTEGER  number of the document among the question's candidates, from 1
-- param chunk_no INTEGER  number of the passage among the question's candidates, from 1
-- param grade INTEGER  of the document; 0 = not relevant
-- param lexical_rank INTEGER?  from 1; NULL where the lexical channel did not find it
-- param vector_rank INTEGER?  from 1
-- param lexical_share REAL  bm25 / bm25max, 0 to 1
-- param vector_share REAL  the cosine that counted
INSERT INTO eval_candidates (
  run_no, query_no, doc_no, chunk_no, grade, lexical_rank, vector_rank, lexical_share, vector_share
) VALUES (
  :run_no, :query_no, :doc_no, :chunk_no, :grade, :lexical_rank, :vector_rank, :lexical_share, :vector_share
);
