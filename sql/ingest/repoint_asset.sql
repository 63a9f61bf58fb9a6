-- Name a content after the first path that still has it.
-- version 1
-- param asset_id TEXT  the content
UPDATE assets
SET (workspace_path, source_uri) = (
  SELECT d.workspace_path, d.source_path FROM documents AS d
  WHERE d.asset_id = assets.asset_id ORDER BY d.workspace_path LIMIT 1
)
WHERE asset_id = :asset_id AND EXISTS (SELECT 1 FROM documents AS d WHERE d.asset_id = assets.asset_id);
