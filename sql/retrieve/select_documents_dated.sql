-- The documents that say themselves when they were written, in their frontmatter or their name, and it was in these days.
--
-- A file's own time is kept to the microsecond and is not counted: copying a folder changes it.
-- returns many DocumentId
-- param first TEXT  the first day, 2026-11-09
-- param last TEXT  the last day
-- column doc_id TEXT  the document
SELECT doc_id
FROM documents
WHERE substr(created_at, 1, 10) BETWEEN :first AND :last AND created_at NOT LIKE '%.______Z'
ORDER BY doc_id;
