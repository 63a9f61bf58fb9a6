-- Read all that is stored of one document.
-- returns one kb.domain.results.inspection.DocumentRow
-- param doc_id TEXT  the document
-- column doc_id TEXT  the document
-- column workspace_path TEXT  path below the workspace root
-- column title TEXT  from frontmatter, first heading or file name
-- column lang TEXT  BCP-47 language
-- column tags_json TEXT  JSON array, sorted
-- column trust_level TEXT  primary, secondary or generated
-- column source_type TEXT  markdown, note, paper, reference or inbox
-- column media_type TEXT  e.g. markdown
-- column byte_len INTEGER  bytes
-- column chunk_count INTEGER  chunks
-- column created_at TEXT  RFC 3339
-- column updated_at TEXT  RFC 3339
-- column parser_version TEXT  label of the parser
-- column chunker_version TEXT?  label of the chunker
-- column asset_id TEXT  its content
-- column checksum TEXT  full BLAKE3 of the content
-- column storage_kind TEXT  copied or reference
-- column storage_path TEXT  where the bytes are kept
-- column source_path TEXT  absolute path on this machine
-- column mtime_ns INTEGER  when the file, or the archive around it, was modified; 0: it is read again each time
-- column doc_version INTEGER  1 at first, +1 at each change of content
-- column metadata_json TEXT  aliases, times and unknown frontmatter keys
-- column provenance_json TEXT  events with time, agent and kind
SELECT
  o.doc_id, o.workspace_path, o.title, o.lang, o.tags_json, o.trust_level, o.source_type, o.media_type,
  o.byte_len, o.chunk_count, o.created_at, o.updated_at, o.parser_version, o.chunker_version, d.asset_id,
  a.checksum, a.storage_kind, a.storage_path, o.source_path, d.mtime_ns, d.doc_version, d.metadata_json, d.provenance_json
FROM document_overview AS o
JOIN documents AS d USING (doc_id)
JOIN assets AS a USING (asset_id)
WHERE o.doc_id = :doc_id;
