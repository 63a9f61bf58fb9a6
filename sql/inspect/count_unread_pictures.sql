-- Count the pictures inside documents whose text is not read, because OCR is switched off or not installed; not those that
-- an ingest will read.
-- returns one UnreadPicturesRow
-- column documents INTEGER  documents with such pictures
-- column pictures INTEGER  pictures
SELECT count(*) AS documents, coalesce(sum(metadata_json ->> '$.user.pictures'), 0) AS pictures
FROM documents
WHERE
  parser_version LIKE '%;ocr=none%'
  AND metadata_json ->> '$.user.pictures' > 0
  AND workspace_path NOT IN (SELECT u.workspace_path FROM unread_files AS u WHERE u.code = 'not_read_yet');
