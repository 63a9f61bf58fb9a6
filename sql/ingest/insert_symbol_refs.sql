-- Store one line on which a name is called or constructed.
-- batch SymbolRefRow
-- param doc_id TEXT  the document
-- param line INTEGER  from 1
-- param name TEXT  the name called or constructed
-- param from_symbol TEXT?  qualified name of the definition around the line
INSERT INTO symbol_refs (doc_id, line, name, from_symbol) VALUES (:doc_id, :line, :name, :from_symbol);
