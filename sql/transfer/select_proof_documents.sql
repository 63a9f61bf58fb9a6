-- Read what identifies each document, in the order of the ids.
-- returns each ProofDocument
-- column doc_id TEXT  of its path, its file's bytes and the version of what read it
-- column workspace_path TEXT  path below the workspace root
SELECT doc_id, workspace_path FROM documents ORDER BY doc_id;
