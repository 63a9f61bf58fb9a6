-- Read which workspace the documents were indexed from: as noted, else as the last run says; no row without documents.
-- returns one WorkspaceRootRow
-- column root TEXT?  absolute path; NULL where nothing tells
SELECT
  coalesce(
    (SELECT k.value FROM kv AS k WHERE k.key = 'workspace_root'),
    (SELECT r.scope_json ->> '$.root' FROM ingest_runs AS r ORDER BY r.finished_at DESC, r.run_id LIMIT 1)
  ) AS root
WHERE EXISTS (SELECT 1 FROM documents);
