-- Count the documents by the month they are of, their language and their kind.
-- returns many kb.domain.results.viewing.MonthCount
-- column month TEXT  2026-03
-- column lang TEXT?  BCP-47 language
-- column media TEXT  kind of file
-- column documents INTEGER  how many
SELECT substr(d.created_at, 1, 7) AS month, d.lang,
  iif(instr(a.media_type, '/') = 0, a.media_type, substr(a.media_type, 1, instr(a.media_type, '/') - 1)) AS media,
  count(*) AS documents
FROM documents AS d
JOIN assets AS a USING (asset_id)
GROUP BY month, d.lang, media
ORDER BY month, d.lang, media;
