-- One row a chunk: its text and exactly where it stands, as `path#L12-L34`.
-- version 1
CREATE VIEW chunk_source AS
SELECT
  c.chunk_rowid,
  c.chunk_id,
  c.doc_id,
  d.workspace_path,
  c.source_spans_json ->> '$[0].start' AS line_start,
  c.source_spans_json ->> '$[0].end' AS line_end,
  d.workspace_path || '#L' || (c.source_spans_json ->> '$[0].start')
  || CASE
    WHEN c.source_spans_json ->> '$[0].end' > c.source_spans_json ->> '$[0].start'
      THEN '-L' || (c.source_spans_json ->> '$[0].end')
    ELSE ''
  END AS citation,
  c.section_label,
  c.lang,
  c.token_estimate,
  c.text
FROM chunks AS c
JOIN documents AS d USING (doc_id);
