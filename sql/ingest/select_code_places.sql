-- List the documents of source code with their files and the repository each is known to be of.
-- returns many CodePlace
-- column doc_id TEXT  the document
-- column source_path TEXT  absolute path on this machine
-- column repository_path TEXT?  the checkout it is of; NULL = none known
SELECT doc_id, source_path, repository_path
FROM documents
WHERE parser_version GLOB 'code-*'
ORDER BY doc_id;
