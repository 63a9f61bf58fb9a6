-- List the lines on which a name is called or constructed.
-- returns many kb.domain.symbols.SymbolUse
-- param name TEXT  as it is defined
-- column path TEXT  path below the workspace root
-- column line INTEGER  from 1
-- column from_symbol TEXT?  qualified name of the definition around the line
SELECT d.workspace_path AS path, r.line, r.from_symbol
FROM symbol_refs AS r
JOIN documents AS d USING (doc_id)
WHERE r.name = :name
ORDER BY d.workspace_path, r.line;
