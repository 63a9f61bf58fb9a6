-- Read chunks as an answer needs them, in the order their ids are given.
-- returns many PassageRow
-- param chunk_ids_json TEXT  JSON array of chunk ids
-- column chunk_id TEXT  the chunk
-- column text TEXT  verbatim
-- column lang TEXT  language of the chunk
-- column source_spans_json TEXT  JSON array of spans
SELECT c.chunk_id, c.text, c.lang, c.source_spans_json
FROM json_each(:chunk_ids_json) AS wanted
CROSS JOIN chunks AS c ON c.chunk_id = wanted.value
ORDER BY wanted.key;
