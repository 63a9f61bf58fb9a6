-- Forget the tokens of a chunk under a model: they are made again.
-- batch TokensKey
-- param chunk_rowid INTEGER  the chunk's number
-- param model_id TEXT  the model
DELETE FROM chunk_tokens WHERE chunk_rowid = :chunk_rowid AND model_id = :model_id;
