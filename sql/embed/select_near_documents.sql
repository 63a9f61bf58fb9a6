-- Find the documents whose chunks are nearest to a vector under the primary model.
-- returns many kb.domain.results.viewing.NearDocument
-- param embedding BLOB  float32 little-endian, L2 = 1
-- param k INTEGER  how many chunks are looked at
-- param doc_id TEXT  the document that is left out
-- column doc_id TEXT  the document
-- column workspace_path TEXT  path below the workspace root
-- column title TEXT  as it is shown
-- column distance REAL  1 − cosine, of its nearest chunk
SELECT d.doc_id, d.workspace_path, coalesce(d.title, d.workspace_path) AS title, min(v.distance) AS distance
FROM (
  SELECT chunk_rowid, distance FROM vec_primary WHERE embedding MATCH :embedding AND k = :k
) AS v
JOIN chunks AS c USING (chunk_rowid)
JOIN documents AS d USING (doc_id)
WHERE d.doc_id <> :doc_id
GROUP BY d.doc_id
ORDER BY distance, d.workspace_path;
