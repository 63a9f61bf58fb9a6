-- One row per chunk: its text and its exact place, as `path#L12-L34`, `#page=13`, `#xywh=…`, `#t=…`, `#caption=…` or `#para=14`.
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
    WHEN 'part' THEN (
      -- The first part, and behind a colon where the last one ends; then the characters, where not all are meant.
      WITH ends AS (
        SELECT
          c.source_spans_json ->> '$[0].part' AS first_part,
          c.source_spans_json ->> '$[#-1].part' AS last_part,
          c.source_spans_json ->> '$[0].char_start' AS char_start,
          c.source_spans_json ->> '$[#-1].char_end' AS char_end,
          coalesce(c.source_spans_json ->> '$[0].part_start', c.source_spans_json ->> '$[0].char_start') AS part_start,
          coalesce(c.source_spans_json ->> '$[#-1].part_end', c.source_spans_json ->> '$[#-1].char_end') AS part_end
      )
      SELECT CASE
          WHEN first_part = last_part THEN first_part
          ELSE substr(first_part, 1, instr(first_part || ':', ':') - 1)
            || ':' || substr(last_part, length(rtrim(last_part, replace(replace(last_part, '=', ''), ':', ''))) + 1)
        END || CASE
          WHEN char_start = part_start AND char_end = part_end THEN ''
          ELSE '&char=' || (char_start - part_start) || ',' || (char_end - part_start)
        END
      FROM ends
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
