-- Count the files that an ingest has met and not read yet, by kind, the most first.
-- returns many NotReadYet
-- column family TEXT  the kind of file
-- column files INTEGER  files
-- param hidden_json TEXT  JSON array of paths that are not counted
SELECT family, count(*) AS files
FROM unread_files
WHERE code = 'not_read_yet' AND workspace_path NOT IN (SELECT h.value FROM json_each(:hidden_json) AS h)
GROUP BY family
ORDER BY count(*) DESC, family;
