-- Store the repository of a document.
-- param doc_id TEXT  the document
-- param repository_path TEXT?  the checkout's folder; NULL = none
UPDATE documents SET repository_path = :repository_path WHERE doc_id = :doc_id;
