-- Hide documents from one connection: the names of tables and views mean here what is left without temp.hidden_documents.
--
-- A name is looked for among temporary things first, so every statement that this connection runs, those written later
-- too, reads through these. The views of the main schema do not, and are made again here. So are the lexical indexes and what
-- is counted of the corpus: scores and ranks are those of a knowledge base that never had the hidden documents. show.sql has
-- been run.
CREATE TEMP VIEW documents AS
SELECT
  doc_id, asset_id, workspace_path, title, lang, source_type, trust_level, parser_version, doc_version,
  schema_version, metadata_json, provenance_json, created_at, updated_at, source_path, byte_len, mtime_ns,
  pipeline_version, repository_path, languages_json, source, committed_at, committed_by
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

CREATE TEMP VIEW document_properties AS
SELECT
  doc_id, name, position, kind, value, number
FROM main.document_properties
WHERE doc_id NOT IN (SELECT h.doc_id FROM temp.hidden_documents AS h);

CREATE TEMP VIEW property_values AS
SELECT
  doc_id, name, position, kind, value, number
FROM main.property_values
WHERE doc_id NOT IN (SELECT h.doc_id FROM temp.hidden_documents AS h);

CREATE TEMP VIEW document_names AS
SELECT
  doc_id, name, path, is_alias
FROM main.document_names
WHERE doc_id NOT IN (SELECT h.doc_id FROM temp.hidden_documents AS h);

CREATE TEMP VIEW links AS
SELECT
  doc_id, position, line, kind, target, anchor, name, path, beside, source
FROM main.links
WHERE doc_id NOT IN (SELECT h.doc_id FROM temp.hidden_documents AS h);

CREATE TEMP VIEW blocks AS
SELECT
  block_id, doc_id, kind, heading_path_json, ordinal, source_span_json, payload_json
FROM main.blocks
WHERE doc_id NOT IN (SELECT h.doc_id FROM temp.hidden_documents AS h);

CREATE TEMP VIEW symbols AS
SELECT
  doc_id, position, path, name, folded_name, qualified_name, kind, language, parent, signature, doc, line_start,
  defined_at, line_end, visibility, dotted_name
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

CREATE TEMP VIEW chunk_tokens AS
SELECT
  chunk_rowid, model_id, count, components, bits, tokens
FROM main.chunk_tokens
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

-- Each index is a copy of the pages of the whole one, without the hidden rows: as a rebuild would make it, in a fraction
-- of the time. It holds no text, which is nowhere read from it.
CREATE VIRTUAL TABLE temp.chunks_fts USING fts5 (
  chunk_id UNINDEXED,
  doc_id UNINDEXED,
  heading_path,
  text,
  tokenized_korean_text,
  name,
  content = '',
  tokenize = 'porter unicode61 remove_diacritics 2'
);
DELETE FROM temp.chunks_fts_data;
DELETE FROM temp.chunks_fts_config;
INSERT INTO temp.chunks_fts_data (id, block) SELECT id, block FROM main.chunks_fts_data;
INSERT INTO temp.chunks_fts_idx (segid, term, pgno) SELECT segid, term, pgno FROM main.chunks_fts_idx;
INSERT INTO temp.chunks_fts_docsize (id, sz) SELECT id, sz FROM main.chunks_fts_docsize;
INSERT INTO temp.chunks_fts_config (k, v) SELECT k, v FROM main.chunks_fts_config;
INSERT INTO temp.chunks_fts (
  chunks_fts, rowid, chunk_id, doc_id, heading_path, text, tokenized_korean_text, name
)
SELECT 'delete', f.rowid, f.chunk_id, f.doc_id, f.heading_path, f.text, f.tokenized_korean_text, f.name
FROM temp.hidden_documents AS h
CROSS JOIN main.chunks AS c USING (doc_id)
CROSS JOIN main.chunks_fts AS f ON f.rowid = c.chunk_rowid
WHERE c.symbol_text IS NULL;
CREATE VIRTUAL TABLE temp.chunks_vocab USING fts5vocab ('temp', 'chunks_fts', 'row');

CREATE VIRTUAL TABLE temp.code_fts USING fts5 (
  symbol,
  path,
  doc,
  text,
  identifiers,
  tokenized_korean_text,
  content = '',
  tokenize = 'porter unicode61 remove_diacritics 2'
);
DELETE FROM temp.code_fts_data;
DELETE FROM temp.code_fts_config;
INSERT INTO temp.code_fts_data (id, block) SELECT id, block FROM main.code_fts_data;
INSERT INTO temp.code_fts_idx (segid, term, pgno) SELECT segid, term, pgno FROM main.code_fts_idx;
INSERT INTO temp.code_fts_docsize (id, sz) SELECT id, sz FROM main.code_fts_docsize;
INSERT INTO temp.code_fts_config (k, v) SELECT k, v FROM main.code_fts_config;
INSERT INTO temp.code_fts (code_fts, rowid, symbol, path, doc, text, identifiers, tokenized_korean_text)
SELECT 'delete', f.rowid, f.symbol, f.path, f.doc, f.text, f.identifiers, f.tokenized_korean_text
FROM temp.hidden_documents AS h
CROSS JOIN main.chunks AS c USING (doc_id)
CROSS JOIN main.code_fts AS f ON f.rowid = c.chunk_rowid
WHERE c.symbol_text IS NOT NULL;
CREATE VIRTUAL TABLE temp.code_vocab USING fts5vocab ('temp', 'code_fts', 'row');

-- Counted in advance of all documents: here each is counted when it is asked for.
CREATE TEMP VIEW common_terms AS
SELECT
  term, chunks
FROM main.common_terms
WHERE false;

INSERT INTO temp.hidden_units (surface, morphemes, occurrences)
SELECT unit.value ->> 0, unit.value ->> 1, sum(unit.value ->> 2)
FROM temp.hidden_documents AS h
JOIN main.document_korean_units AS d USING (doc_id)
JOIN json_each(d.units_json) AS unit
GROUP BY unit.value ->> 0, unit.value ->> 1;

CREATE TEMP VIEW korean_units AS
SELECT
  surface, morphemes, u.occurrences - coalesce(h.occurrences, 0) AS occurrences
FROM main.korean_units AS u
LEFT JOIN temp.hidden_units AS h USING (surface, morphemes)
WHERE u.occurrences > coalesce(h.occurrences, 0);

INSERT INTO temp.shown_counts (key, value)
SELECT 'chunk_total', count(*) FROM temp.chunks_fts_docsize
UNION ALL
SELECT 'code_total', count(*) FROM temp.code_fts_docsize
UNION ALL
SELECT 'korean_unit_total', k.value - (SELECT coalesce(sum(h.occurrences), 0) FROM temp.hidden_units AS h)
FROM main.kv AS k
WHERE k.key = 'korean_unit_total';
