-- Store one definition of a source file.
-- batch SymbolRow
-- param doc_id TEXT  its document
-- param position INTEGER  in the file, from 0
-- param path TEXT  path below the workspace root
-- param name TEXT  as it is defined
-- param folded_name TEXT  the name in lower case without the marks between its words
-- param qualified_name TEXT  with the names around it, joined by dots
-- param kind TEXT  function, method, class, …
-- param language TEXT  of the file
-- param parent TEXT?  qualified name of what is around it
-- param signature TEXT  what it says before its body
-- param doc TEXT?  its documentation
-- param line_start INTEGER  first line of its comment, decorators or attributes, from 1
-- param defined_at INTEGER  first line of the definition itself
-- param line_end INTEGER  last line
-- param visibility TEXT  public or private
INSERT INTO symbols (
  doc_id, position, path, name, folded_name, qualified_name, kind, language, parent, signature, doc, line_start, defined_at,
  line_end, visibility
) VALUES (
  :doc_id, :position, :path, :name, :folded_name, :qualified_name, :kind, :language, :parent, :signature, :doc, :line_start,
  :defined_at, :line_end, :visibility
);
