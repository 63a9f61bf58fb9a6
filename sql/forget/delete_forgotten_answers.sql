-- Forget the answers and conversations that rest on hidden paths, and what ingests said and noted of these.
DELETE FROM main.answers
WHERE trace_id IN (SELECT h.trace_id FROM temp.hidden_answers AS h)
  OR conversation_id IN (SELECT h.session_id FROM temp.hidden_sessions AS h);

DELETE FROM main.chat_sessions
WHERE session_id IN (SELECT h.session_id FROM temp.hidden_sessions AS h);

DELETE FROM main.unread_files
WHERE workspace_path IN (SELECT h.path FROM temp.hidden_paths AS h);

UPDATE main.ingest_runs
SET items_json = (
  SELECT json_group_array(json(item.value))
  FROM json_each(items_json) AS item
  WHERE item.value ->> '$.doc_path' NOT IN (SELECT h.path FROM temp.hidden_paths AS h)
    AND coalesce(item.value ->> '$.moved_from', '') NOT IN (SELECT h.path FROM temp.hidden_paths AS h)
)
WHERE EXISTS (
  SELECT 1
  FROM json_each(items_json) AS item
  JOIN temp.hidden_paths AS h ON h.path IN (item.value ->> '$.doc_path', item.value ->> '$.moved_from')
);
