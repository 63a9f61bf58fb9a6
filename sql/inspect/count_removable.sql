-- Count the rows a reset would remove.
-- returns one RemovableCounts
-- column documents INTEGER  documents
-- column passages INTEGER  their chunks
-- column vectors INTEGER  vectors of passages, of all models
-- column answers INTEGER  answers that were kept
-- column conversations INTEGER  named sessions
-- column runs INTEGER  evaluation runs
SELECT
  (SELECT count(*) FROM documents) AS documents,
  (SELECT count(*) FROM chunks) AS passages,
  (SELECT count(*) FROM embedding_records) AS vectors,
  (SELECT count(*) FROM answers) AS answers,
  (SELECT count(*) FROM chat_sessions) AS conversations,
  (SELECT count(*) FROM eval_runs) AS runs;
