-- Read the tokens of some chunks under a model.
-- returns many StoredTokens
-- param rowids_json TEXT  JSON array of the chunks' numbers
-- param model_id TEXT  the model
-- column chunk_rowid INTEGER  the chunk's number
-- column tokens BLOB  the rows, then the scale of each
SELECT t.chunk_rowid, t.tokens
FROM json_each(:rowids_json) AS wanted
CROSS JOIN chunk_tokens AS t ON t.chunk_rowid = wanted.value AND t.model_id = :model_id
ORDER BY wanted.key;
