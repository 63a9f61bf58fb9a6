-- The metrics of every question of a run; NULL where a question says nothing about one.
-- returns many kb.domain.results.evaluation.QueryMetrics
-- param run_id TEXT  the run
-- column query_id TEXT  the question
-- column lang TEXT?  its language
-- column category TEXT?  its category
-- column answerable INTEGER  1 = the corpus holds an answer
-- column first_rank INTEGER?  rank of the first relevant passage
-- column hit_at_1 INTEGER?  1 = the first hit is relevant
-- column hit_at_k INTEGER?  1 = one of the hits is
-- column mrr REAL?  1 / rank of the first relevant passage
-- column ndcg_at_10 REAL?  over documents
-- column recall_at_k_doc REAL?  share of the expected documents among the hits
-- column precision_at_k_chunk REAL?  share of the k hits that are expected passages
-- column citation_exactness REAL?  share of the hits whose lines hold the passage
-- column answer_found INTEGER?  1 = the hits hold every string that belongs in the answer
-- column refusal_recall INTEGER?  1 = unanswerable, and refused
-- column answer_recall INTEGER?  1 = answerable, and answered
-- column must_contain INTEGER?  1 = the answer holds every string it must
-- column forbidden INTEGER?  1 = the answer holds no string it must not
-- column latency_ms REAL  milliseconds of the search
SELECT
  query_id, lang, category, answerable, first_rank, hit_at_1, hit_at_k, mrr, ndcg_at_10, recall_at_k_doc,
  precision_at_k_chunk, citation_exactness, answer_found, refusal_recall, answer_recall, must_contain, forbidden, latency_ms
FROM eval_query_metrics
WHERE run_id = :run_id
ORDER BY query_id;
