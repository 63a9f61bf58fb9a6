-- One row per document: what it is, how large, how many chunks and tags.
CREATE VIEW document_overview AS
SELECT
  d.doc_id,
  d.workspace_path,
  d.title,
  d.lang,
  (SELECT json_group_array(t.tag) FROM (
    SELECT tag FROM document_tags WHERE doc_id = d.doc_id ORDER BY tag
  ) AS t) AS tags_json,
  d.trust_level,
  d.source_type,
  a.media_type,
  d.byte_len,
  (SELECT count(*) FROM chunks AS c WHERE c.doc_id = d.doc_id) AS chunk_count,
  d.created_at,
  d.updated_at,
  d.parser_version,
  (SELECT c.chunker_version FROM chunks AS c WHERE c.doc_id = d.doc_id LIMIT 1) AS chunker_version,
  d.source_path
FROM documents AS d
JOIN assets AS a USING (asset_id);
