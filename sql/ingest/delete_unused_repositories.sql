-- Forget the repositories that no document is of.
DELETE FROM repositories AS r
WHERE NOT EXISTS (SELECT 1 FROM documents AS d WHERE d.repository_path = r.path);
