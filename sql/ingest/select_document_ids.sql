-- List all documents, to find artifacts that belong to none.
-- returns many DocumentIdRow
-- column doc_id TEXT  the document
SELECT doc_id FROM documents ORDER BY doc_id;
