-- One row: how much the knowledge base holds, and when it was last brought up to date.
CREATE VIEW corpus_stats AS
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
