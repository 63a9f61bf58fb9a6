-- List paths that hold what was typed, the shortest first.
-- returns many CompletedPath
-- param typed TEXT  any part of a path
-- param row_limit INTEGER  at most so many
-- column workspace_path TEXT  path below the workspace root
SELECT workspace_path
FROM documents
WHERE instr(lower(workspace_path), lower(:typed)) > 0
ORDER BY length(workspace_path), workspace_path
LIMIT :row_limit;
