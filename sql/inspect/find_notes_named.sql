-- Find the documents that a link names: by their path, with or without `.md`, or by the end of it, without the name of a source.
-- returns many NamedNote
-- param name TEXT  what the link says, in NFC, without a leading slash
-- column doc_id TEXT  the document
-- column workspace_path TEXT  its path; the shortest first
WITH wanted AS (
  SELECT lower(:name) AS whole, lower(:name) || '.md' AS note
)
SELECT d.doc_id, d.workspace_path
FROM documents AS d, wanted
WHERE lower(d.workspace_path) IN (wanted.whole, wanted.note)
  OR substr(lower(d.workspace_path), -length(wanted.whole) - 1) = '/' || wanted.whole
  OR substr(lower(d.workspace_path), -length(wanted.note) - 1) = '/' || wanted.note
  OR (d.source <> 'workspace'
    AND lower(substr(d.workspace_path, length(d.source) + 2)) IN (wanted.whole, wanted.note))
ORDER BY length(d.workspace_path), d.workspace_path
LIMIT 20;
