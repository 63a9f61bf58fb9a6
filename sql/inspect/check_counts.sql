-- List the counters kept by triggers that differ from a recount.
-- returns many WrongCount
-- column counted TEXT  what was counted wrong
WITH
word_counts AS (
  SELECT word.value AS letters, count(*) AS documents
  FROM document_words AS d CROSS JOIN json_each(d.words_json) AS word
  GROUP BY word.value
),
unit_counts AS (
  SELECT unit.value ->> 0 AS surface, unit.value ->> 1 AS morphemes, sum(unit.value ->> 2) AS occurrences
  FROM document_korean_units AS d CROSS JOIN json_each(d.units_json) AS unit
  GROUP BY unit.value ->> 0, unit.value ->> 1
)
SELECT 'passages of notes' AS counted
WHERE (SELECT value FROM kv WHERE key = 'chunk_total') IS NOT (SELECT count(*) FROM chunks WHERE symbol_text IS NULL)
UNION ALL
SELECT 'passages of code'
WHERE (SELECT value FROM kv WHERE key = 'code_total') IS NOT (SELECT count(*) FROM chunks WHERE symbol_text IS NOT NULL)
UNION ALL
SELECT 'documents by pipeline'
WHERE EXISTS (
  SELECT pipeline_version, count(*) FROM documents GROUP BY pipeline_version
  EXCEPT SELECT pipeline_version, documents FROM pipelines
) OR (SELECT count(*) FROM pipelines) <> (SELECT count(DISTINCT pipeline_version) FROM documents)
UNION ALL
SELECT 'words'
WHERE EXISTS (SELECT letters, documents FROM word_counts EXCEPT SELECT letters, documents FROM words)
  OR (SELECT count(*) FROM words) <> (SELECT count(*) FROM word_counts)
UNION ALL
SELECT 'Korean words'
WHERE EXISTS (
  SELECT surface, morphemes, occurrences FROM unit_counts
  EXCEPT SELECT surface, morphemes, occurrences FROM korean_units
) OR (SELECT count(*) FROM korean_units) <> (SELECT count(*) FROM unit_counts)
  OR (SELECT value FROM kv WHERE key = 'korean_unit_total')
    IS NOT (SELECT coalesce(sum(occurrences), 0) FROM korean_units)
UNION ALL
SELECT 'changes of the notes' WHERE NOT EXISTS (SELECT 1 FROM kv WHERE key = 'corpus_revision')
ORDER BY counted;
