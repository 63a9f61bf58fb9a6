-- Count the documents that have each value of a facet, the commonest values first.
-- version 1
-- param facet TEXT?  media, lang, tag, folder, trust, kind or code_lang; NULL = all of them
-- param doc_ids_json TEXT?  JSON array of documents, from select_eligible_documents; NULL = any
-- param per_facet INTEGER  at most so many values of each
-- column facet TEXT  as above; a folder is the first part of a path, a kind that of a definition in source code
-- column value TEXT  what the documents have there
-- column documents INTEGER  how many have it
WITH chosen AS (
  SELECT d.doc_id, d.lang, d.workspace_path, d.trust_level, a.media_type,
    instr(a.media_type, '/') AS slash
  FROM documents AS d
  JOIN assets AS a USING (asset_id)
  WHERE :doc_ids_json IS NULL OR d.doc_id IN (SELECT value FROM json_each(:doc_ids_json))
), facets AS (
  SELECT 'media' AS facet, iif(slash = 0, media_type, substr(media_type, 1, slash - 1)) AS value, doc_id
  FROM chosen
  WHERE :facet IS NULL OR :facet = 'media'
  UNION ALL
  SELECT 'code_lang', substr(media_type, 6), doc_id
  FROM chosen
  WHERE media_type GLOB 'code/*' AND (:facet IS NULL OR :facet = 'code_lang')
  UNION ALL
  SELECT 'lang', lang, doc_id
  FROM chosen
  WHERE lang IS NOT NULL AND (:facet IS NULL OR :facet = 'lang')
  UNION ALL
  SELECT 'trust', trust_level, doc_id
  FROM chosen
  WHERE :facet IS NULL OR :facet = 'trust'
  UNION ALL
  SELECT 'folder', substr(workspace_path, 1, instr(workspace_path, '/') - 1), doc_id
  FROM chosen
  WHERE instr(workspace_path, '/') > 0 AND (:facet IS NULL OR :facet = 'folder')
  UNION ALL
  SELECT 'tag', t.tag, chosen.doc_id
  FROM chosen
  JOIN document_tags AS t USING (doc_id)
  WHERE :facet IS NULL OR :facet = 'tag'
  UNION ALL
  SELECT DISTINCT 'kind', s.kind, chosen.doc_id
  FROM chosen
  JOIN symbols AS s USING (doc_id)
  WHERE :facet IS NULL OR :facet = 'kind'
), counted AS (
  SELECT facet, value, count(*) AS documents,
    row_number() OVER (PARTITION BY facet ORDER BY count(*) DESC, value) AS place
  FROM facets
  GROUP BY facet, value
)
SELECT facet, value, documents
FROM counted
WHERE place <= :per_facet
ORDER BY facet, place;
