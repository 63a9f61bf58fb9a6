-- The text of some passages.
-- returns many PassageText
-- param ids_json TEXT  JSON array of passage ids
-- column chunk_id TEXT  the passage
-- column text TEXT  verbatim
SELECT chunk_id, text FROM chunks WHERE chunk_id IN (SELECT value FROM json_each(:ids_json)) ORDER BY chunk_id;
