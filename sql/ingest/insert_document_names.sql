-- Store a name by which links reach a document.
-- batch DocumentNameRow
-- param doc_id TEXT  the document
-- param name TEXT  of its file or an alias, case-folded, NFC
-- param path TEXT  the whole path, or the alias
-- param is_alias INTEGER  1 for an alias
INSERT INTO document_names (doc_id, name, path, is_alias) VALUES (:doc_id, :name, :path, :is_alias);
