-- Find where a quotation stands in what is indexed, whatever its file is called now.
-- version 1
-- param quote TEXT  the quotation, verbatim
-- column workspace_path TEXT  path below the workspace root
-- column source_path TEXT  absolute path on this machine
SELECT DISTINCT d.workspace_path, d.source_path
FROM chunks AS c
JOIN documents AS d USING (doc_id)
WHERE instr(c.text, :quote) > 0
ORDER BY d.workspace_path
LIMIT 5;
