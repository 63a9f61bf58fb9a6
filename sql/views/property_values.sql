-- One row per property of a document: its dates, title and tags, and what its metadata says. From here triggers fill document_properties.
--
-- Of a list each item is a row, of a map each entry, as map.entry; there are no deeper levels. Where two have one name, the
-- first counts. Times of files have microseconds, as in documents.
CREATE VIEW property_values AS
WITH dated AS NOT MATERIALIZED (
  SELECT
    doc_id,
    iif(created_at LIKE '%.______Z', NULL, replace(created_at, 'T00:00:00Z', '')) AS created,
    iif(updated_at LIKE '%.______Z', NULL, replace(updated_at, 'T00:00:00Z', '')) AS updated,
    CASE
      WHEN mtime_ns > 0 THEN strftime('%Y-%m-%dT%H:%M:%S', mtime_ns / 1000000000, 'unixepoch')
        || printf('.%06dZ', mtime_ns / 1000 % 1000000)
      WHEN updated_at LIKE '%.______Z' THEN updated_at
    END AS modified,
    provenance_json ->> '$.events[0].at' AS ingested
  FROM documents
), keyed AS (
  SELECT doc_id, 'date' AS name, 'text' AS type, coalesce(created, updated, modified) AS value FROM dated
  UNION ALL
  SELECT doc_id, 'created', 'text', created FROM dated
  UNION ALL
  SELECT doc_id, 'updated', 'text', updated FROM dated
  UNION ALL
  SELECT doc_id, 'modified', 'text', modified FROM dated
  UNION ALL
  SELECT doc_id, 'ingested', 'text', ingested FROM dated
  UNION ALL
  SELECT doc_id, 'title', 'title', title FROM documents
  UNION ALL
  SELECT d.doc_id, 'tags', 'array', (
    SELECT json_group_array(t.tag) FROM (SELECT tag FROM document_tags WHERE doc_id = d.doc_id ORDER BY rowid) AS t
  )
  FROM documents AS d
  UNION ALL
  SELECT doc_id, 'aliases', 'array', metadata_json -> '$.aliases' FROM documents
  UNION ALL
  SELECT doc_id, 'id', 'text', metadata_json ->> '$.user_id_alias' FROM documents
  UNION ALL
  SELECT d.doc_id, u.key, u.type, u.value FROM documents AS d JOIN json_each(d.metadata_json, '$.user') AS u
  UNION ALL
  SELECT d.doc_id, u.key || '.' || e.key, e.type, e.value
  FROM documents AS d
  JOIN json_each(d.metadata_json, '$.user') AS u
  JOIN json_each(u.value) AS e
  WHERE u.type = 'object'
  UNION ALL
  SELECT doc_id, 'committed', 'text', nullif(committed_at, '') FROM documents
  UNION ALL
  SELECT doc_id, 'committed_by', 'text', nullif(committed_by, '') FROM documents
), items AS (
  SELECT
    k.doc_id, k.name, i.key AS position,
    iif(k.type = 'array', i.type, k.type) AS type,
    iif(k.type = 'array', i.value, k.value) AS value
  FROM keyed AS k
  JOIN json_each(iif(k.type = 'array', k.value, '[0]')) AS i
)
SELECT
  doc_id, name, position,
  CASE
    WHEN type IN ('integer', 'real') THEN 'number'
    WHEN type IN ('true', 'false') THEN 'bool'
    WHEN type = 'text' AND value GLOB '[12][0-9][0-9][0-9]-[01][0-9]-[0-3][0-9]*'
      AND date(substr(value, 1, 10)) = substr(value, 1, 10) THEN 'date'
    ELSE 'text'
  END AS kind,
  iif(type IN ('true', 'false'), type, CAST(value AS TEXT)) AS value,
  iif(type IN ('integer', 'real'), CAST(value AS REAL), NULL) AS number
FROM items
WHERE value IS NOT NULL AND type NOT IN ('array', 'object', 'null');
