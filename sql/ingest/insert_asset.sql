-- Record a content; a second file with the same bytes changes nothing.
-- param asset_id TEXT  id of the bytes
-- param source_uri TEXT  absolute path of the file it was read from
-- param workspace_path TEXT  path below the workspace root
-- param media_type TEXT  e.g. markdown
-- param byte_len INTEGER  bytes
-- param checksum TEXT  full BLAKE3, 64 hex characters
-- param storage_kind TEXT  copied or reference
-- param storage_path TEXT  where the bytes are kept
-- param discovered_at TEXT  RFC 3339 UTC
INSERT INTO assets (
  asset_id, source_uri, workspace_path, media_type, byte_len, checksum, storage_kind, storage_path,
  discovered_at
) VALUES (
  :asset_id, :source_uri, :workspace_path, :media_type, :byte_len, :checksum, :storage_kind, :storage_path,
  :discovered_at
)
ON CONFLICT (asset_id) DO NOTHING;
