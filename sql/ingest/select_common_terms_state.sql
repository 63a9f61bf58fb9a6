-- Read how far the index has grown since its common words were counted.
-- returns one CommonTermsState
-- column chunk_total INTEGER  chunks now
-- column counted_at INTEGER  chunks when common_terms was filled; 0 = never
SELECT
  (SELECT value FROM kv WHERE key = 'chunk_total') AS chunk_total,
  (SELECT value FROM kv WHERE key = 'common_terms_chunks') AS counted_at;
