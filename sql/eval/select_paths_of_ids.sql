-- Read the paths of the documents and passages with these ids.
-- returns many PathOfId
-- param ids_json TEXT  JSON array of document and passage ids
-- column id TEXT  the id
-- column workspace_path TEXT  path of its document
SELECT d.doc_id AS id, d.workspace_path
FROM documents AS d
WHERE d.doc_id IN (SELECT value FROM json_each(:ids_json))
UNION ALL
SELECT c.chunk_id AS id, d.workspace_path
FROM chunks AS c
JOIN documents AS d USING (doc_id)
WHERE c.chunk_id IN (SELECT value FROM json_each(:ids_json))
ORDER BY id;
