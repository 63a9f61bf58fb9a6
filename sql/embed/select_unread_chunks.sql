-- List chunks without sentence vectors, the next ones in the order of their numbers.
-- version 3
-- param after_rowid INTEGER  only chunks after this number; 0 = from the start
-- param row_limit INTEGER  at most so many
-- column chunk_rowid INTEGER  the chunk's number
-- column title TEXT  of its document
-- column heading_path_json TEXT  JSON array of headings, outermost first
-- column text TEXT  verbatim piece of the source
SELECT c.chunk_rowid, d.title, c.heading_path_json, c.text
FROM chunks AS c
JOIN documents AS d USING (doc_id)
WHERE c.chunk_rowid > :after_rowid AND c.chunk_rowid IN (SELECT u.chunk_rowid FROM unread_chunks AS u)
ORDER BY c.chunk_rowid
LIMIT :row_limit;
