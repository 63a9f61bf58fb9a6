-- Count the documents that have each value of a facet, the commonest values first.
-- returns many kb.domain.results.viewing.FacetCount
-- param facet TEXT?  media, lang, tag, folder, trust, kind, code_lang or source; NULL = all of them
-- param per_facet INTEGER  at most so many values of each
-- column facet TEXT  as above, source only where there are several; a folder is the first part of a path, a kind that of a definition in source code
-- column value TEXT  what the documents have there
-- column documents INTEGER  how many have it
WITH media_types AS MATERIALIZED (
  SELECT a.media_type, instr(a.media_type, '/') AS slash, count(*) AS documents
  FROM documents AS d
  JOIN assets AS a USING (asset_id)
  WHERE :facet IS NULL OR :facet IN ('media', 'code_lang')
  GROUP BY a.media_type
), folders AS (
  SELECT substr(workspace_path, 1, instr(workspace_path, '/') - 1) AS folder, count(*) AS documents
  FROM documents
  WHERE :facet IS NULL OR :facet = 'folder'
  GROUP BY folder
), counted AS (
  SELECT 'media' AS facet, iif(slash = 0, media_type, substr(media_type, 1, slash - 1)) AS value,
    sum(documents) AS documents
  FROM media_types
  WHERE :facet IS NULL OR :facet = 'media'
  GROUP BY value
  UNION ALL
  SELECT 'code_lang', substr(media_type, 6), documents
  FROM media_types
  WHERE media_type GLOB 'code/*' AND (:facet IS NULL OR :facet = 'code_lang')
  UNION ALL
  SELECT 'lang', l.value, count(*)
  FROM documents AS d, json_each(d.languages_json) AS l
  WHERE :facet IS NULL OR :facet = 'lang'
  GROUP BY l.value
  UNION ALL
  SELECT 'trust', trust_level, count(*)
  FROM documents
  WHERE :facet IS NULL OR :facet = 'trust'
  GROUP BY trust_level
  UNION ALL
  SELECT 'source', source, count(*)
  FROM documents
  WHERE (:facet IS NULL OR :facet = 'source') AND EXISTS (SELECT 1 FROM documents WHERE source <> 'workspace')
  GROUP BY source
  UNION ALL
  SELECT 'folder', folder, documents
  FROM folders
  WHERE folder <> ''
  UNION ALL
  SELECT 'tag', tag, count(*)
  FROM document_tags
  WHERE :facet IS NULL OR :facet = 'tag'
  GROUP BY tag
  UNION ALL
  SELECT 'kind', kind, count(DISTINCT doc_id)
  FROM symbols
  WHERE :facet IS NULL OR :facet = 'kind'
  GROUP BY kind
), placed AS (
  SELECT facet, value, documents, row_number() OVER (PARTITION BY facet ORDER BY documents DESC, value) AS place
  FROM counted
)
SELECT facet, value, documents
FROM placed
WHERE place <= :per_facet
ORDER BY facet, place;
