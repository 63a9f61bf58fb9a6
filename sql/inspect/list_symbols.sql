-- List definitions in source code in the order of their files and lines.
-- returns many kb.domain.symbols.Symbol
-- param name TEXT?  a name, plain or qualified by dots, in whatever case; NULL = any
-- param symbol_glob TEXT?  a GLOB over names, plain or qualified; NULL = any
-- param symbol_kind TEXT?  function, method, class, …; NULL = any
-- param doc_ids_json TEXT?  JSON array of documents, from select_eligible_documents; NULL = any
-- param row_limit INTEGER  at most so many; -1 = all
-- column path TEXT  path below the workspace root
-- column name TEXT  as it is defined
-- column qualified_name TEXT  with the names around it
-- column kind TEXT  function, method, class, …
-- column language TEXT  of the file
-- column parent TEXT?  qualified name of what is around it
-- column signature TEXT  what it says before its body
-- column doc TEXT?  its documentation
-- column line_start INTEGER  first line of its comment, decorators or attributes, from 1
-- column defined_at INTEGER  first line of the definition itself
-- column line_end INTEGER  last line
-- column visibility TEXT  public or private
SELECT
  path, name, qualified_name, kind, language, parent, signature, doc, line_start, defined_at, line_end, visibility
FROM symbols
WHERE (:name IS NULL OR name COLLATE NOCASE = :name
    OR substr('.' || dotted_name, -length(:name) - 1) COLLATE NOCASE = '.' || :name)
  AND (:symbol_glob IS NULL OR name GLOB :symbol_glob OR qualified_name GLOB :symbol_glob
    OR '.' || dotted_name GLOB '*.' || :symbol_glob)
  AND (:symbol_kind IS NULL OR kind = :symbol_kind)
  AND (:doc_ids_json IS NULL OR doc_id IN (SELECT value FROM json_each(:doc_ids_json)))
ORDER BY path, defined_at, position
LIMIT :row_limit;
