-- Store one document.
-- param doc_id TEXT  the document
-- param asset_id TEXT  its content
-- param workspace_path TEXT  path below the workspace root
-- param title TEXT  from frontmatter, first heading or file name
-- param lang TEXT  BCP-47 language
-- param languages_json TEXT  JSON array of the languages it has text in
-- param source_type TEXT  markdown, note, paper, reference or inbox
-- param trust_level TEXT  primary, secondary or generated
-- param parser_version TEXT  label of the parser
-- param doc_version INTEGER  1 at first, +1 at each change of content
-- param schema_version INTEGER  schema it was written under
-- param metadata_json TEXT  aliases, times and unknown frontmatter keys
-- param provenance_json TEXT  events with time, agent and kind
-- param created_at TEXT  RFC 3339
-- param updated_at TEXT  RFC 3339
-- param source_path TEXT  absolute path on this machine
-- param byte_len INTEGER  bytes
-- param mtime_ns INTEGER  modification time, nanoseconds; 0 = read it again
-- param pipeline_version TEXT  parser, chunker, policy and morpheme versions
-- param source TEXT  the source that its file is in
-- param committed_at TEXT?  RFC 3339 UTC, when its file was last committed; '' = git knows none; NULL = not asked yet
-- param committed_by TEXT?  by whom
INSERT INTO documents (
  doc_id, asset_id, workspace_path, title, lang, languages_json, source_type, trust_level, parser_version,
  doc_version, schema_version, metadata_json, provenance_json, created_at, updated_at, source_path, byte_len, mtime_ns,
  pipeline_version, source, committed_at, committed_by
) VALUES (
  :doc_id, :asset_id, :workspace_path, :title, :lang, :languages_json, :source_type, :trust_level, :parser_version,
  :doc_version, :schema_version, :metadata_json, :provenance_json, :created_at, :updated_at, :source_path,
  :byte_len, :mtime_ns, :pipeline_version, :source, :committed_at, :committed_by
);
