-- Read the repositories that documents are of.
-- returns many RepositoryRow
-- param doc_ids_json TEXT  JSON array of documents
-- column doc_id TEXT  one that is of a repository
-- column path TEXT  the checkout's folder on this machine
-- column name TEXT  what it is called
-- column branch TEXT?  the branch that was checked out; NULL = none
-- column commit_id TEXT?  its commit in hex; NULL = none yet, or unknown
SELECT d.doc_id, r.path, r.name, r.branch, r.commit_id
FROM json_each(:doc_ids_json) AS wanted
JOIN documents AS d ON d.doc_id = wanted.value
JOIN repositories AS r ON r.path = d.repository_path
ORDER BY wanted.key;
