-- List the files that an ingest has met and not read yet.
-- returns each NotReadYetPath
-- column workspace_path TEXT  path below the workspace root
SELECT workspace_path
FROM unread_files
WHERE code = 'not_read_yet'
ORDER BY workspace_path;
