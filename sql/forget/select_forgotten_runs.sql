-- List the evaluation runs that found, expected or cited something at a hidden path.
-- returns many RunId
-- column run_id TEXT  the run
SELECT DISTINCT r.run_id
FROM main.eval_query_results AS r
WHERE EXISTS (
    SELECT 1 FROM json_each(r.result_json, '$.hits') AS hit JOIN temp.hidden_paths AS h ON h.path = hit.value ->> '$.path'
  )
  OR EXISTS (SELECT 1 FROM json_each(r.result_json, '$.expected') AS e JOIN temp.hidden_paths AS h ON h.path = e.key)
  OR EXISTS (
    SELECT 1 FROM json_each(r.result_json, '$.places') AS p JOIN temp.hidden_paths AS h ON h.path = p.value ->> '$.path'
  )
ORDER BY r.run_id;
