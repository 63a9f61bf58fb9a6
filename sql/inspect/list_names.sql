-- List the names by which links reach documents, of files and aliases.
-- returns many NameOfDocument
-- column name TEXT  case-folded, NFC
-- column workspace_path TEXT  the document; the shortest path first
SELECT n.name, d.workspace_path
FROM document_names AS n
JOIN documents AS d USING (doc_id)
ORDER BY n.name, length(d.workspace_path), d.workspace_path;
