-- Forget a content with its last document; else name it after the first path that still has it.
-- version 1
CREATE TRIGGER documents_ad AFTER DELETE ON documents BEGIN
  DELETE FROM assets
  WHERE asset_id = old.asset_id AND NOT EXISTS (SELECT 1 FROM documents AS d WHERE d.asset_id = old.asset_id);
  UPDATE assets
  SET (workspace_path, source_uri) = (
    SELECT d.workspace_path, d.source_path FROM documents AS d
    WHERE d.asset_id = old.asset_id ORDER BY d.workspace_path LIMIT 1
  )
  WHERE asset_id = old.asset_id;
END;
