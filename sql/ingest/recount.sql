-- Recount what triggers keep: chunks, documents by pipeline, words, Korean units, properties.
INSERT INTO kv (key, value) VALUES ('corpus_revision', 0) ON CONFLICT (key) DO NOTHING;
INSERT INTO kv (key, value)
SELECT 'chunk_total', count(*) FILTER (WHERE symbol_text IS NULL) FROM chunks
UNION ALL
SELECT 'code_total', count(*) FILTER (WHERE symbol_text IS NOT NULL) FROM chunks WHERE true
ON CONFLICT (key) DO UPDATE SET value = excluded.value;
DELETE FROM pipelines;
INSERT INTO pipelines (pipeline_version, documents)
SELECT pipeline_version, count(*) FROM documents GROUP BY pipeline_version;
INSERT INTO words (letters, documents)
SELECT word.value, count(*) FROM document_words AS d CROSS JOIN json_each(d.words_json) AS word WHERE true GROUP BY word.value
ON CONFLICT (letters) DO UPDATE SET documents = excluded.documents;
DELETE FROM words
WHERE letters NOT IN (SELECT word.value FROM document_words AS d CROSS JOIN json_each(d.words_json) AS word);
DELETE FROM korean_units;
INSERT INTO korean_units (surface, morphemes, occurrences)
SELECT unit.value ->> 0, unit.value ->> 1, sum(unit.value ->> 2)
FROM document_korean_units AS d CROSS JOIN json_each(d.units_json) AS unit
GROUP BY unit.value ->> 0, unit.value ->> 1;
INSERT INTO kv (key, value) SELECT 'korean_unit_total', coalesce(sum(occurrences), 0) FROM korean_units WHERE true
ON CONFLICT (key) DO UPDATE SET value = excluded.value;
DELETE FROM document_properties;
INSERT OR IGNORE INTO document_properties (doc_id, name, position, kind, value, number)
SELECT doc_id, name, position, kind, value, number FROM property_values;
