-- List the folders of documents, each with the oldest file of which git was not asked yet.
-- returns many CommitFolder
-- column folder TEXT  absolute path on this machine, with a slash behind it
-- column oldest_ns INTEGER?  modification time in nanoseconds; NULL = git was asked of all that have one
SELECT rtrim(source_path, replace(source_path, '/', '')) AS folder, min(iif(committed_at IS NULL, nullif(mtime_ns, 0), NULL)) AS oldest_ns
FROM documents
GROUP BY folder
ORDER BY folder;
