-- Name a content after the first path that still has it; one kept by reference is read from there.
-- version 2
-- param asset_id TEXT  the content
UPDATE assets
SET
  workspace_path = d.workspace_path,
  source_uri = d.source_path,
  storage_path = CASE assets.storage_kind WHEN 'reference' THEN d.source_path ELSE assets.storage_path END
FROM (
  SELECT workspace_path, source_path FROM documents WHERE asset_id = :asset_id ORDER BY workspace_path LIMIT 1
) AS d
WHERE assets.asset_id = :asset_id;
