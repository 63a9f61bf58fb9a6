-- Remove the document at one path; its blocks, chunks, tags and index rows go with it.
-- returns changes
-- param workspace_path TEXT  path below the workspace root
DELETE FROM documents WHERE workspace_path = :workspace_path;
