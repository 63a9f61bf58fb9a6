-- Let a connection see all documents again.
-- version 5
DROP TABLE IF EXISTS temp.chunks_vocab;
DROP TABLE IF EXISTS temp.code_vocab;
DROP TABLE IF EXISTS temp.chunks_fts;
DROP TABLE IF EXISTS temp.code_fts;
DROP VIEW IF EXISTS temp.common_terms;
DROP VIEW IF EXISTS temp.korean_units;
DROP VIEW IF EXISTS temp.corpus_stats;
DROP VIEW IF EXISTS temp.document_overview;
DROP VIEW IF EXISTS temp.chunk_source;
DROP VIEW IF EXISTS temp.chunk_tokens;
DROP VIEW IF EXISTS temp.embedding_records;
DROP VIEW IF EXISTS temp.assets;
DROP VIEW IF EXISTS temp.symbol_refs;
DROP VIEW IF EXISTS temp.symbols;
DROP VIEW IF EXISTS temp.blocks;
DROP VIEW IF EXISTS temp.document_tags;
DROP VIEW IF EXISTS temp.chunks;
DROP VIEW IF EXISTS temp.documents;
