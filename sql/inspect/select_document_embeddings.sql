-- Read which models embedded a document's chunks, how many chunks each, and when last.
-- returns many kb.domain.results.inspection.DocumentEmbedding
-- param doc_id TEXT  the document
-- column model_id TEXT  the model
-- column model_version TEXT  version of its weights
-- column chunks INTEGER  of the document, with a vector in both stores
-- column embedded_at TEXT  RFC 3339 UTC, the latest
SELECT r.model_id, r.model_version, count(*) AS chunks, max(r.created_at) AS embedded_at
FROM embedding_records AS r
JOIN chunks AS c USING (chunk_id)
WHERE c.doc_id = :doc_id AND r.status = 'committed'
GROUP BY r.model_id, r.model_version
ORDER BY embedded_at, r.model_id, r.model_version;
