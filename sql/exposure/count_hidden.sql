-- Count the hidden documents of a connection.
-- version 1
-- column hidden INTEGER  documents
SELECT count(*) AS hidden
FROM temp.hidden_documents;
