-- Keep each content named after the first path that has it, and forget it with its last document. One kept by reference is
-- read from there.
CREATE TRIGGER documents_ad AFTER DELETE ON documents BEGIN
  DELETE FROM assets
  WHERE asset_id = old.asset_id AND NOT EXISTS (SELECT 1 FROM documents AS d WHERE d.asset_id = old.asset_id);
  UPDATE assets
  SET
    workspace_path = d.workspace_path,
    source_uri = d.source_path,
    storage_path = iif(assets.storage_kind = 'reference', d.source_path, assets.storage_path)
  FROM (
    SELECT workspace_path, source_path FROM documents WHERE asset_id = old.asset_id ORDER BY workspace_path LIMIT 1
  ) AS d
  WHERE assets.asset_id = old.asset_id;
END;
CREATE TRIGGER documents_ai AFTER INSERT ON documents BEGIN
  UPDATE assets
  SET
    workspace_path = new.workspace_path,
    source_uri = new.source_path,
    storage_path = iif(storage_kind = 'reference', new.source_path, storage_path)
  WHERE asset_id = new.asset_id AND workspace_path > new.workspace_path;
END;
CREATE TRIGGER documents_au AFTER UPDATE OF workspace_path, source_path ON documents BEGIN
  UPDATE assets
  SET
    workspace_path = d.workspace_path,
    source_uri = d.source_path,
    storage_path = iif(assets.storage_kind = 'reference', d.source_path, assets.storage_path)
  FROM (
    SELECT workspace_path, source_path FROM documents WHERE asset_id = new.asset_id ORDER BY workspace_path LIMIT 1
  ) AS d
  WHERE assets.asset_id = new.asset_id;
END;
