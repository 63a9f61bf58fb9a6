-- Count the rows stored of documents and paths listed as hidden, and the results made from them.
-- returns one ForgottenCounts
-- column documents INTEGER  documents
-- column passages INTEGER  their chunks
-- column vectors INTEGER  vectors of the chunks, of all models
-- column answers INTEGER  kept answers that rest on them, with all of a conversation that does
-- column conversations INTEGER  conversations
SELECT
  (SELECT count(*) FROM temp.hidden_documents) AS documents,
  (SELECT count(*) FROM temp.hidden_documents AS h JOIN main.chunks AS c USING (doc_id)) AS passages,
  (
    SELECT count(*)
    FROM temp.hidden_documents AS h
    JOIN main.chunks AS c USING (doc_id)
    JOIN main.embedding_records AS r USING (chunk_rowid)
  ) AS vectors,
  (
    SELECT count(*)
    FROM main.answers AS a
    WHERE a.trace_id IN (SELECT h.trace_id FROM temp.hidden_answers AS h)
      OR a.conversation_id IN (SELECT h.session_id FROM temp.hidden_sessions AS h)
  ) AS answers,
  (SELECT count(*) FROM temp.hidden_sessions AS h JOIN main.chat_sessions AS s USING (session_id)) AS conversations;
