-- List the tags of all documents, whether they are hidden or not.
-- returns many Tag
-- column tag TEXT  as it is written
SELECT DISTINCT tag
FROM main.document_tags
ORDER BY tag;
