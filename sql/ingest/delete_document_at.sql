-- Remove the document at one path; its blocks, chunks, tags and index rows go with it.
-- version 1
-- param workspace_path TEXT  path below the workspace root
DELETE FROM documents WHERE workspace_path = :workspace_path;
