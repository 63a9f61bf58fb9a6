-- Every indexed file with its content: what the hash of a corpus is made of.
-- returns many CorpusRow
-- column workspace_path TEXT  path below the workspace root
-- column asset_id TEXT  id of the file's bytes
SELECT workspace_path, asset_id FROM documents ORDER BY workspace_path;
