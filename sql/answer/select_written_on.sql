-- Read the day on which a document says it was written, in its frontmatter or its name.
--
-- A file's own time is kept to the microsecond and is not counted: copying a folder changes it.
-- returns one WrittenOn
-- param doc_id TEXT  the document
-- column day TEXT  2026-11-09
SELECT substr(created_at, 1, 10) AS day
FROM documents
WHERE doc_id = :doc_id AND created_at NOT LIKE '%.______Z';
