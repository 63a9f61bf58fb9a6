-- Hide the paths of hidden documents and some others, and with them every answer and conversation that was made of what
-- lies or lay there, or for which a step found it.
-- param paths_json TEXT  JSON array of paths below the workspace root
INSERT OR IGNORE INTO temp.hidden_paths (path)
SELECT d.workspace_path
FROM temp.hidden_documents AS h
JOIN main.documents AS d USING (doc_id)
UNION
SELECT value
FROM json_each(:paths_json);

INSERT INTO temp.hidden_answers (trace_id)
SELECT a.trace_id
FROM main.answers AS a
WHERE EXISTS (SELECT 1 FROM temp.hidden_paths)
  AND (
    EXISTS (
      SELECT 1 FROM json_each(a.packed_chunks_json) AS p JOIN temp.hidden_paths AS h ON h.path = p.value ->> '$.doc_path'
    )
    OR EXISTS (
      SELECT 1 FROM json_each(a.citations_json) AS c JOIN temp.hidden_paths AS h ON h.path = c.value ->> '$.citation.path'
    )
    OR EXISTS (
      SELECT 1
      FROM json_each(a.hops_json) AS s
      JOIN json_each(s.value, '$.places') AS p
      JOIN temp.hidden_paths AS h ON h.path = p.value ->> '$.citation.path'
    )
  );

INSERT INTO temp.hidden_sessions (session_id)
SELECT a.conversation_id
FROM temp.hidden_answers AS h
JOIN main.answers AS a USING (trace_id)
WHERE a.conversation_id IS NOT NULL
UNION
SELECT t.session_id
FROM main.chat_turns AS t
JOIN json_each(t.citations_json) AS c
JOIN temp.hidden_paths AS h ON h.path = c.value ->> '$.citation.path';
