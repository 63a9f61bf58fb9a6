-- Count the documents that have each value of a facet, the commonest values first.
-- returns many kb.domain.results.viewing.FacetCount
-- param facet TEXT?  media, lang, tag, folder, trust, kind, code_lang or source; NULL = all of them
-- param doc_ids_json TEXT?  JSON array of documents, from select_eligible_documents; NULL = all documents
-- param per_facet INTEGER  at most so many values of each
-- column facet TEXT  as above, source only where there are several; a folder is the first part of a path, a kind that of a definition in source code
-- column value TEXT  what the documents have there
-- column documents INTEGER  how many have it
WITH chosen AS MATERIALIZED (
  SELECT value AS doc_id FROM json_each(:doc_ids_json)
  UNION ALL
  SELECT doc_id FROM documents WHERE :doc_ids_json IS NULL
), alike AS MATERIALIZED (
  SELECT a.media_type, instr(a.media_type, '/') AS slash, d.languages_json, d.trust_level, d.source,
    substr(d.workspace_path, 1, instr(d.workspace_path, '/') - 1) AS folder, count(*) AS documents
  FROM documents AS d
  JOIN assets AS a USING (asset_id)
  WHERE d.doc_id IN (SELECT c.doc_id FROM chosen AS c)
    AND (:facet IS NULL OR :facet IN ('media', 'code_lang', 'lang', 'trust', 'folder', 'source'))
  GROUP BY a.media_type, d.languages_json, d.trust_level, d.source, folder
), counted AS (
  SELECT 'media' AS facet, iif(slash = 0, media_type, substr(media_type, 1, slash - 1)) AS value,
    sum(documents) AS documents
  FROM alike
  WHERE :facet IS NULL OR :facet = 'media'
  GROUP BY value
  UNION ALL
  SELECT 'code_lang', substr(media_type, 6), sum(documents)
  FROM alike
  WHERE media_type GLOB 'code/*' AND (:facet IS NULL OR :facet = 'code_lang')
  GROUP BY media_type
  UNION ALL
  SELECT 'lang', l.value, sum(documents)
  FROM alike, json_each(alike.languages_json) AS l
  WHERE :facet IS NULL OR :facet = 'lang'
  GROUP BY l.value
  UNION ALL
  SELECT 'trust', trust_level, sum(documents)
  FROM alike
  WHERE :facet IS NULL OR :facet = 'trust'
  GROUP BY trust_level
  UNION ALL
  SELECT 'source', source, sum(documents)
  FROM alike
  WHERE (:facet IS NULL OR :facet = 'source') AND EXISTS (SELECT 1 FROM documents WHERE source <> 'workspace')
  GROUP BY source
  UNION ALL
  SELECT 'folder', folder, sum(documents)
  FROM alike
  WHERE folder <> '' AND (:facet IS NULL OR :facet = 'folder')
  GROUP BY folder
  UNION ALL
  SELECT 'tag', t.tag, count(*)
  FROM chosen AS c
  CROSS JOIN document_tags AS t ON t.doc_id = c.doc_id
  WHERE :facet IS NULL OR :facet = 'tag'
  GROUP BY t.tag
  UNION ALL
  SELECT 'kind', s.kind, count(DISTINCT s.doc_id)
  FROM symbols AS s
  WHERE s.doc_id IN (SELECT c.doc_id FROM chosen AS c) AND (:facet IS NULL OR :facet = 'kind')
  GROUP BY s.kind
), placed AS (
  SELECT facet, value, documents, row_number() OVER (PARTITION BY facet ORDER BY documents DESC, value) AS place
  FROM counted
)
SELECT facet, value, documents
FROM placed
WHERE place <= :per_facet
ORDER BY facet, place;
