-- List the documents that have one content, to recognise a moved file.
-- returns many AssetDocument
-- param asset_id TEXT  the content
-- column workspace_path TEXT  path below the workspace root
-- column source_path TEXT  absolute path on this machine
SELECT workspace_path, source_path FROM documents WHERE asset_id = :asset_id ORDER BY workspace_path;
