-- One row per chunk: its text and its exact place, as `path#L12-L34`, `#page=13`, `#xywh=…`, `#t=…` or `#caption=…`.
CREATE VIEW chunk_source AS
SELECT
  c.chunk_rowid,
  c.chunk_id,
  c.doc_id,
  d.workspace_path,
  coalesce(c.source_spans_json ->> '$[0].start', c.source_spans_json ->> '$[0].line_start') AS line_start,
  coalesce(c.source_spans_json ->> '$[0].end', c.source_spans_json ->> '$[0].line_end') AS line_end,
  d.workspace_path || '#' || CASE c.source_spans_json ->> '$[0].kind'
    WHEN 'page' THEN 'page=' || (c.source_spans_json ->> '$[0].page')
    WHEN 'caption' THEN 'caption=' || (c.source_spans_json ->> '$[0].model')
    WHEN 'region' THEN (
      SELECT 'xywh=' || min(s.value ->> 'x') || ',' || min(s.value ->> 'y')
        || ',' || (max((s.value ->> 'x') + (s.value ->> 'w')) - min(s.value ->> 'x'))
        || ',' || (max((s.value ->> 'y') + (s.value ->> 'h')) - min(s.value ->> 'y'))
      FROM json_each(c.source_spans_json) AS s
    )
    WHEN 'time' THEN (
      SELECT 't=' || rtrim(rtrim(printf('%.3f', min(s.value ->> 'start_ms') / 1000.0), '0'), '.')
        || ',' || rtrim(rtrim(printf('%.3f', max(s.value ->> 'end_ms') / 1000.0), '0'), '.')
      FROM json_each(c.source_spans_json) AS s
    )
    WHEN 'code' THEN 'L' || (c.source_spans_json ->> '$[0].line_start') || CASE
      WHEN c.source_spans_json ->> '$[0].line_end' > c.source_spans_json ->> '$[0].line_start'
        THEN '-L' || (c.source_spans_json ->> '$[0].line_end')
      ELSE ''
    END
    ELSE 'L' || (c.source_spans_json ->> '$[0].start') || CASE
      WHEN c.source_spans_json ->> '$[0].end' > c.source_spans_json ->> '$[0].start'
        THEN '-L' || (c.source_spans_json ->> '$[0].end')
      ELSE ''
    END
  END AS citation,
  c.section_label,
  c.lang,
  c.token_estimate,
  c.text
FROM chunks AS c
JOIN documents AS d USING (doc_id);
