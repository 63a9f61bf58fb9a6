-- Read how much the knowledge base holds.
-- returns one kb.domain.results.inspection.CorpusStats
-- column assets INTEGER  distinct contents
-- column documents INTEGER  documents
-- column blocks INTEGER  blocks
-- column chunks INTEGER  chunks
-- column source_bytes INTEGER  bytes of all sources
-- column documents_by_lang_json TEXT  JSON object language → documents
-- column documents_by_media_json TEXT  JSON object media type → documents
-- column corpus_revision INTEGER  counts changes of the corpus
-- column last_ingest_at TEXT?  RFC 3339 UTC
SELECT
  assets, documents, blocks, chunks, source_bytes, documents_by_lang_json, documents_by_media_json,
  corpus_revision, last_ingest_at
FROM corpus_stats;
