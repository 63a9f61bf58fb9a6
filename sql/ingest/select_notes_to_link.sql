-- Read what names and links are made of, of every document: for a file that an older kb made.
-- returns each NoteToLink
-- column doc_id TEXT  the document
-- column workspace_path TEXT  path below the workspace root
-- column media_type TEXT  kind of file
-- column aliases_json TEXT  JSON array of its aliases
-- column chunks_json TEXT  JSON array of [first line, text] of its passages; of notes alone
SELECT d.doc_id, d.workspace_path, a.media_type, coalesce(d.metadata_json -> '$.aliases', '[]') AS aliases_json,
  (
    SELECT json_group_array(json_array(c.source_spans_json -> '$[0].start', c.text) ORDER BY c.ordinal)
    FROM chunks AS c
    WHERE c.doc_id = d.doc_id AND a.media_type = 'markdown'
  ) AS chunks_json
FROM documents AS d
JOIN assets AS a USING (asset_id)
ORDER BY d.doc_id;
