-- List the documents whose files have the same bytes as another's.
-- returns many kb.domain.results.viewing.PathRow
-- param row_limit INTEGER  at most so many
-- column asset_id TEXT  the content they share
-- column workspace_path TEXT  path below the workspace root
-- column title TEXT  as it is shown
SELECT d.asset_id, d.workspace_path, coalesce(d.title, d.workspace_path) AS title
FROM documents AS d
WHERE d.asset_id IN (SELECT asset_id FROM documents GROUP BY asset_id HAVING count(*) > 1)
ORDER BY d.asset_id, d.workspace_path
LIMIT :row_limit;
