-- Collect the documents that pass the filters of a question: of these alone passages are found.
--
-- The one place where filters are spelled out; path globs are resolved over the paths, and what is left is handed to a
-- search as doc_ids_json. One array, not a row each: of 200,000 documents the rows alone would take a second.
-- returns one EligibleDocuments
-- param tags_json TEXT?  JSON array; a document with any of these tags; NULL = any
-- param sources_json TEXT?  JSON array of names; a document of any of these sources; NULL = any
-- param lang TEXT?  BCP-47 language that the document has text in; NULL = any
-- param trust_min TEXT?  primary, secondary or generated: at least this trusted; NULL = any
-- param media TEXT?  media type, or its part before the slash; NULL = any
-- param symbol TEXT?  a document of code that defines a name, plain or qualified, that matches this glob; NULL = any
-- param symbol_kind TEXT?  a document of code that defines something of that kind; NULL = any
-- param code_lang TEXT?  language of source code; NULL = any
-- param repo TEXT?  name of the git repository it is of, in whatever case; NULL = any
-- param title TEXT?  what its title holds, in whatever case; NULL = any
-- param where_json TEXT?  JSON array of conditions, all to hold: name, op, value, and its number or first and last day; NULL = any
-- param with_paths INTEGER  1 where the paths are asked for too
-- column doc_ids_json TEXT  JSON array of the documents, in the order of their ids
-- column paths_json TEXT?  JSON array of their paths below the workspace root, in the same order
WITH conditions AS (
  SELECT
    c.key AS number, c.value ->> 'name' AS name, c.value ->> 'op' AS op, lower(c.value ->> 'value') AS text,
    c.value ->> 'number' AS amount, c.value ->> 'first' AS first, c.value ->> 'last' AS last
  FROM json_each(:where_json) AS c
), compared AS (
  -- A value beside what it is compared with: as numbers or days where both are, else as text, which is never more or less
  -- than a number or a day.
  SELECT c.number, c.op, p.doc_id, c.text, lower(p.value) AS written,
    CASE
      WHEN c.amount IS NOT NULL AND p.number IS NOT NULL THEN p.number
      WHEN c.first IS NOT NULL AND p.kind = 'date'
        THEN iif(p.value LIKE '%.______Z', date(p.value, 'localtime'), substr(p.value, 1, 10))
      WHEN c.op IN ('=', '!=') OR coalesce(c.amount, c.first) IS NULL THEN lower(p.value)
    END AS own,
    CASE
      WHEN c.amount IS NOT NULL AND p.number IS NOT NULL THEN c.amount
      WHEN c.first IS NOT NULL AND p.kind = 'date' THEN c.first
      ELSE c.text
    END AS least,
    CASE
      WHEN c.amount IS NOT NULL AND p.number IS NOT NULL THEN c.amount
      WHEN c.last IS NOT NULL AND p.kind = 'date' THEN c.last
      ELSE c.text
    END AS most
  FROM conditions AS c
  JOIN document_properties AS p ON p.name = c.name COLLATE NOCASE
), meeting AS MATERIALIZED (
  SELECT DISTINCT number, doc_id
  FROM compared
  WHERE CASE op
      WHEN '~' THEN instr(written, text) > 0
      WHEN '<' THEN own < least
      WHEN '<=' THEN own <= most
      WHEN '>' THEN own > most
      WHEN '>=' THEN own >= least
      ELSE own BETWEEN least AND most
    END
)
SELECT json_group_array(passing.doc_id) AS doc_ids_json,
  CASE WHEN :with_paths THEN json_group_array(passing.workspace_path) END AS paths_json
FROM (
  SELECT d.doc_id, d.workspace_path
  FROM documents AS d
  JOIN assets AS a USING (asset_id)
  WHERE (:tags_json IS NULL OR EXISTS (
      SELECT 1 FROM document_tags AS t
      WHERE t.doc_id = d.doc_id AND t.tag IN (SELECT value FROM json_each(:tags_json))
    ))
    AND (:sources_json IS NULL OR EXISTS (
      SELECT 1 FROM json_each(:sources_json) AS n WHERE n.value = d.source COLLATE NOCASE
    ))
    AND (:lang IS NULL OR d.lang = lower(:lang) OR EXISTS (
      SELECT 1 FROM json_each(d.languages_json) AS l WHERE l.value = lower(:lang)
    ))
    AND (:trust_min IS NULL
      OR instr('primary secondary generated', d.trust_level) <= instr('primary secondary generated', :trust_min))
    AND (:media IS NULL OR a.media_type = :media COLLATE NOCASE OR a.media_type LIKE :media || '/%')
    AND (:code_lang IS NULL OR a.media_type = 'code/' || lower(:code_lang))
    AND ((:symbol IS NULL AND :symbol_kind IS NULL) OR EXISTS (
      SELECT 1 FROM symbols AS s
      WHERE s.doc_id = d.doc_id
        AND (:symbol IS NULL OR s.name GLOB :symbol OR s.qualified_name GLOB :symbol
          OR '.' || s.dotted_name GLOB '*.' || :symbol)
        AND (:symbol_kind IS NULL OR s.kind = :symbol_kind)
    ))
    AND (:repo IS NULL OR EXISTS (
      SELECT 1 FROM repositories AS r WHERE r.path = d.repository_path AND r.name = :repo COLLATE NOCASE
    ))
    AND (:title IS NULL OR instr(lower(d.title), lower(:title)) > 0)
    AND NOT EXISTS (
      SELECT 1
      FROM conditions AS c
      WHERE (c.op = '!=') = EXISTS (SELECT 1 FROM meeting AS m WHERE m.number = c.number AND m.doc_id = d.doc_id)
    )
  ORDER BY d.doc_id
) AS passing;
