-- List the numbers of a document's chunks.
-- returns many ChunkRowid
-- param workspace_path TEXT  path below the workspace root
-- column chunk_rowid INTEGER  the chunk's number
SELECT c.chunk_rowid FROM documents AS d JOIN chunks AS c USING (doc_id)
WHERE d.workspace_path = :workspace_path ORDER BY c.chunk_rowid;
