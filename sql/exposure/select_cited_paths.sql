-- List the paths that kept answers, conversations and evaluations were made of; documents that are gone are among them.
-- returns many HiddenPath
-- column workspace_path TEXT  path below the workspace root
SELECT p.value ->> '$.doc_path' AS workspace_path
FROM main.answers AS a
JOIN json_each(a.packed_chunks_json) AS p
WHERE p.value ->> '$.doc_path' IS NOT NULL
UNION
SELECT c.value ->> '$.citation.path'
FROM main.answers AS a
JOIN json_each(a.citations_json) AS c
WHERE c.value ->> '$.citation.path' IS NOT NULL
UNION
SELECT p.value ->> '$.citation.path'
FROM main.answers AS a
JOIN json_each(a.hops_json) AS s
JOIN json_each(s.value, '$.places') AS p
UNION
SELECT c.value ->> '$.citation.path'
FROM main.chat_turns AS t
JOIN json_each(t.citations_json) AS c
WHERE c.value ->> '$.citation.path' IS NOT NULL
UNION
SELECT h.value ->> '$.path'
FROM main.eval_query_results AS r
JOIN json_each(r.result_json, '$.hits') AS h
UNION
SELECT e.key
FROM main.eval_query_results AS r
JOIN json_each(r.result_json, '$.expected') AS e
ORDER BY workspace_path;
