-- Make an empty list of hidden documents, for one connection.
-- version 1
CREATE TEMP TABLE IF NOT EXISTS hidden_documents (doc_id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
DELETE FROM temp.hidden_documents;
