-- List the values that documents have for a filter, the commonest first: more than a person would look through for the one that was meant.
-- returns many FilterValue
-- param name TEXT  tag, source, lang, media, code_lang, kind, repo, symbol, where, path_glob, or of days dated, since or before
-- column value TEXT  a value; of media both code and code/python; of days months
WITH valued AS (
  SELECT tag AS value FROM document_tags WHERE :name = 'tag'
  UNION ALL
  SELECT source FROM documents WHERE :name = 'source'
  UNION ALL
  SELECT l.value FROM documents AS d, json_each(d.languages_json) AS l WHERE :name = 'lang'
  UNION ALL
  SELECT a.media_type FROM documents AS d JOIN assets AS a USING (asset_id) WHERE :name = 'media'
  UNION ALL
  SELECT substr(a.media_type, 1, instr(a.media_type, '/') - 1)
  FROM documents AS d
  JOIN assets AS a USING (asset_id)
  WHERE :name = 'media' AND instr(a.media_type, '/') > 0
  UNION ALL
  SELECT substr(a.media_type, 6)
  FROM documents AS d
  JOIN assets AS a USING (asset_id)
  WHERE :name = 'code_lang' AND a.media_type GLOB 'code/*'
  UNION ALL
  SELECT kind FROM symbols WHERE :name = 'kind'
  UNION ALL
  SELECT name FROM symbols WHERE :name = 'symbol'
  UNION ALL
  SELECT r.name FROM documents AS d JOIN repositories AS r ON r.path = d.repository_path WHERE :name = 'repo'
  UNION ALL
  SELECT workspace_path FROM documents WHERE :name = 'path_glob'
  UNION ALL
  SELECT substr(value, 1, 7) FROM document_properties WHERE :name IN ('since', 'before') AND name = 'date'
  UNION ALL
  SELECT substr(created_at, 1, 7) FROM documents WHERE :name = 'dated' AND created_at NOT LIKE '%.______Z'
  UNION ALL
  SELECT p.name || '=' || iif(p.kind = 'date', substr(p.value, 1, 10), p.value)
  FROM document_properties AS p
  WHERE :name = 'where' AND p.name NOT IN ('title', 'created', 'updated', 'modified', 'ingested', 'committed')
)
SELECT value FROM valued GROUP BY value ORDER BY count(*) DESC, value LIMIT 20000;
