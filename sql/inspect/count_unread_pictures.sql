-- Count the pictures inside documents whose text is not read, because OCR is switched off or not installed.
-- returns one UnreadPicturesRow
-- column documents INTEGER  documents with such pictures
-- column pictures INTEGER  pictures
SELECT count(*) AS documents, coalesce(sum(metadata_json ->> '$.user.pictures'), 0) AS pictures
FROM documents
WHERE parser_version LIKE '%;ocr=none%' AND metadata_json ->> '$.user.pictures' > 0;
