-- List links with the documents that they reach, by note and line.
--
-- Of several documents with the name, a link reaches one of the source that it names, else of the note's source, else the only
-- one of all others; of these the one of its path from the root, a Markdown link that of its path from the note's folder;
-- then one beside the note, one whose path ends so, one with such an alias; of these the one with the shortest path. A link
-- that begins as if with a source of which nothing is indexed is an address, and not listed.
-- returns many kb.domain.results.inspection.LinkRow
-- param from_ids_json TEXT?  JSON array of documents: links of these; NULL = of any
-- param to_ids_json TEXT?  JSON array of documents: links that reach these; NULL = any
-- param broken INTEGER  1: links alone that reach no document
-- param row_limit INTEGER  at most so many; -1 = all
-- column workspace_path TEXT  the linking note
-- column title TEXT  its title
-- column line INTEGER  from 1
-- column kind TEXT  wikilink, embed, markdown or citation
-- column target TEXT  as written, decoded, without the anchor
-- column anchor TEXT?  heading, ^block or place
-- column target_path TEXT?  the document it reaches; NULL = none
-- column target_title TEXT?  its title
WITH asked AS (
  SELECT l.doc_id, l.position, l.line, l.kind, l.target, l.anchor, l.name, l.path, l.beside, l.source
  FROM links AS l
  WHERE (:from_ids_json IS NULL OR l.doc_id IN (SELECT value FROM json_each(:from_ids_json)))
    AND (:to_ids_json IS NULL OR l.name IN (
      SELECT n.name FROM document_names AS n WHERE n.doc_id IN (SELECT value FROM json_each(:to_ids_json))
    ))
), resolved AS (
  SELECT l.doc_id, l.position, l.line, l.kind, l.target, l.anchor, l.source, (
    SELECT iif(
      d.source = coalesce(l.source, s.source) OR min(d.doc_id) OVER others = max(d.doc_id) OVER others, d.doc_id, NULL
    )
    FROM document_names AS n
    JOIN documents AS d USING (doc_id)
    WHERE n.name = l.name AND (n.path IN (l.path, l.beside) OR substr(n.path, -length(l.path) - 1) = '/' || l.path)
      AND (l.source IS NULL OR d.source = l.source OR n.path = l.beside)
    WINDOW others AS (PARTITION BY d.source = s.source)
    ORDER BY d.source <> coalesce(l.source, s.source), n.is_alias, n.path = l.beside AND l.kind = 'markdown' DESC,
      n.path = l.path DESC, n.path = l.beside DESC, length(d.workspace_path), d.workspace_path
    LIMIT 1
  ) AS target_doc_id
  FROM asked AS l
  JOIN documents AS s ON s.doc_id = l.doc_id
)
SELECT s.workspace_path, coalesce(s.title, s.workspace_path) AS title, r.line, r.kind, r.target, r.anchor,
  t.workspace_path AS target_path, coalesce(t.title, t.workspace_path) AS target_title
FROM resolved AS r
JOIN documents AS s USING (doc_id)
LEFT JOIN documents AS t ON t.doc_id = r.target_doc_id
WHERE (:to_ids_json IS NULL OR r.target_doc_id IN (SELECT value FROM json_each(:to_ids_json)))
  AND (NOT :broken OR r.target_doc_id IS NULL)
  AND (r.target_doc_id IS NOT NULL OR r.source IS NULL OR EXISTS (SELECT 1 FROM documents AS e WHERE e.source = r.source))
ORDER BY s.workspace_path, r.position
LIMIT :row_limit;
