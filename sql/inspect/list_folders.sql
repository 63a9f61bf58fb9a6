-- Count the documents of each folder at the top of the workspace; documents outside any folder count under an empty name.
-- returns many CountedFolder
-- param doc_ids_json TEXT?  JSON array of documents, from select_eligible_documents; NULL = any
-- param row_limit INTEGER  at most so many
-- param row_offset INTEGER  so many are left out first
-- column name TEXT  the folder
-- column documents INTEGER  documents in it
-- column updated_at TEXT  when the last of them was changed
SELECT
  CASE instr(workspace_path, '/') WHEN 0 THEN '' ELSE substr(workspace_path, 1, instr(workspace_path, '/') - 1) END
    AS name,
  count(*) AS documents,
  max(updated_at) AS updated_at
FROM documents
WHERE :doc_ids_json IS NULL OR doc_id IN (SELECT value FROM json_each(:doc_ids_json))
GROUP BY name
ORDER BY name
LIMIT :row_limit OFFSET :row_offset;
