-- List the paths of the documents that are hidden from a connection.
-- version 1
-- column workspace_path TEXT  path below the workspace root
SELECT d.workspace_path
FROM temp.hidden_documents AS h
JOIN main.documents AS d USING (doc_id)
ORDER BY d.workspace_path;
