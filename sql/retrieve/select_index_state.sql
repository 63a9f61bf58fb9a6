-- Read how much the index holds, what made it, and by which weights it ranks.
-- returns one IndexState
-- column chunks INTEGER  chunks but those of source code
-- column code_chunks INTEGER  chunks of source code
-- column korean_units INTEGER  sum of korean_units.occurrences
-- column weights TEXT  BM25 with the weight of each column, e.g. bm25(0,0,1,1,1,3)
-- column fts_version TEXT  label of the definition that its rows were built by
-- column pipelines_json TEXT  JSON array of the pipeline versions of its documents
-- column waits INTEGER  whether there are files that an ingest has met and not read yet
SELECT
  coalesce((SELECT value FROM kv WHERE key = 'chunk_total'), 0) AS chunks,
  coalesce((SELECT value FROM kv WHERE key = 'code_total'), 0) AS code_chunks,
  coalesce((SELECT value FROM kv WHERE key = 'korean_unit_total'), 0) AS korean_units,
  coalesce((SELECT replace(replace(v, ' ', ''), '.0', '') FROM chunks_fts_config WHERE k = 'rank'), 'bm25') AS weights,
  coalesce((SELECT value FROM schema_meta WHERE key = 'fts_version'), '') AS fts_version,
  (SELECT json_group_array(pipeline_version) FROM (SELECT pipeline_version FROM pipelines ORDER BY pipeline_version))
    AS pipelines_json,
  EXISTS (SELECT 1 FROM unread_files AS u WHERE u.code = 'not_read_yet') AS waits;
