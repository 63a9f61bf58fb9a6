-- Forget that files were not read.
-- param paths_json TEXT  JSON array of paths below the workspace root
DELETE FROM unread_files
WHERE workspace_path IN (SELECT p.value FROM json_each(:paths_json) AS p);
