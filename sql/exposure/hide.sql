-- Hide documents from one connection: the names of tables and views mean here what is left without temp.hidden_documents.
--
-- A name is looked for among temporary things first, so every statement that this connection runs, those written later
-- too, reads through these. The views of the main schema do not, and are made again here.
-- version 3
DROP VIEW IF EXISTS temp.corpus_stats;
DROP VIEW IF EXISTS temp.document_overview;
DROP VIEW IF EXISTS temp.chunk_source;
DROP VIEW IF EXISTS temp.chunk_sentences;
DROP VIEW IF EXISTS temp.embedding_records;
DROP VIEW IF EXISTS temp.assets;
DROP VIEW IF EXISTS temp.symbol_refs;
DROP VIEW IF EXISTS temp.symbols;
DROP VIEW IF EXISTS temp.blocks;
DROP VIEW IF EXISTS temp.document_tags;
DROP VIEW IF EXISTS temp.chunks;
DROP VIEW IF EXISTS temp.documents;

CREATE TEMP VIEW documents AS
SELECT
  doc_id, asset_id, workspace_path, title, lang, source_type, trust_level, parser_version, doc_version,
  schema_version, metadata_json, provenance_json, created_at, updated_at, source_path, byte_len, mtime_ns,
  pipeline_version, repository_path
FROM main.documents
WHERE doc_id NOT IN (SELECT h.doc_id FROM temp.hidden_documents AS h);

CREATE TEMP VIEW chunks AS
SELECT
  chunk_rowid, chunk_id, doc_id, ordinal, text, heading_path_json, section_label, source_spans_json, token_estimate,
  chunker_version, policy_hash, block_ids_json, created_at, lang, heading_text, tokenized_korean_text, name_text,
  nfc_text, symbol_text, doc_text, identifier_text
FROM main.chunks
WHERE doc_id NOT IN (SELECT h.doc_id FROM temp.hidden_documents AS h);

CREATE TEMP VIEW document_tags AS
SELECT
  doc_id, tag
FROM main.document_tags
WHERE doc_id NOT IN (SELECT h.doc_id FROM temp.hidden_documents AS h);

CREATE TEMP VIEW blocks AS
SELECT
  block_id, doc_id, kind, heading_path_json, ordinal, source_span_json, payload_json
FROM main.blocks
WHERE doc_id NOT IN (SELECT h.doc_id FROM temp.hidden_documents AS h);

CREATE TEMP VIEW symbols AS
SELECT
  doc_id, position, path, name, folded_name, qualified_name, kind, language, parent, signature, doc, line_start,
  defined_at, line_end, visibility
FROM main.symbols
WHERE doc_id NOT IN (SELECT h.doc_id FROM temp.hidden_documents AS h);

CREATE TEMP VIEW symbol_refs AS
SELECT
  doc_id, line, name, from_symbol
FROM main.symbol_refs
WHERE doc_id NOT IN (SELECT h.doc_id FROM temp.hidden_documents AS h);

CREATE TEMP VIEW chunk_source AS
SELECT
  chunk_rowid, chunk_id, doc_id, workspace_path, line_start, line_end, citation, section_label, lang, token_estimate,
  text
FROM main.chunk_source
WHERE doc_id NOT IN (SELECT h.doc_id FROM temp.hidden_documents AS h);

CREATE TEMP VIEW document_overview AS
SELECT
  doc_id, workspace_path, title, lang, tags_json, trust_level, source_type, media_type, byte_len, chunk_count,
  created_at, updated_at, parser_version, chunker_version, source_path
FROM main.document_overview
WHERE doc_id NOT IN (SELECT h.doc_id FROM temp.hidden_documents AS h);

CREATE TEMP VIEW assets AS
SELECT
  asset_id, source_uri, workspace_path, media_type, byte_len, checksum, storage_kind, storage_path, discovered_at
FROM main.assets
WHERE asset_id IN (SELECT d.asset_id FROM temp.documents AS d);

CREATE TEMP VIEW chunk_sentences AS
SELECT
  chunk_rowid, position, start_char, end_char, vector
FROM main.chunk_sentences
WHERE chunk_rowid IN (SELECT c.chunk_rowid FROM temp.chunks AS c);

CREATE TEMP VIEW embedding_records AS
SELECT
  embedding_id, chunk_id, model_id, model_version, dimensions, lance_table,
  created_at, chunk_rowid, status, token_count, passage_version
FROM main.embedding_records
WHERE chunk_rowid IN (SELECT c.chunk_rowid FROM temp.chunks AS c);

-- As the view of that name, over what is left.
CREATE TEMP VIEW corpus_stats AS
SELECT
  (SELECT count(*) FROM assets) AS assets,
  (SELECT count(*) FROM documents) AS documents,
  (SELECT count(*) FROM blocks) AS blocks,
  (SELECT count(*) FROM chunks) AS chunks,
  (SELECT coalesce(sum(byte_len), 0) FROM documents) AS source_bytes,
  (SELECT json_group_object(lang, n) FROM (
    SELECT lang, count(*) AS n FROM documents GROUP BY lang ORDER BY lang
  )) AS documents_by_lang_json,
  (SELECT json_group_object(media_type, n) FROM (
    SELECT a.media_type, count(*) AS n FROM documents JOIN assets AS a USING (asset_id) GROUP BY a.media_type
    ORDER BY a.media_type
  )) AS documents_by_media_json,
  (SELECT value FROM kv WHERE key = 'corpus_revision') AS corpus_revision,
  (SELECT max(finished_at) FROM ingest_runs) AS last_ingest_at;
