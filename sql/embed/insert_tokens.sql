-- Keep the tokens of a passage under a model, in place of those it had.
-- batch KeptTokens
-- param chunk_rowid INTEGER  the chunk's number
-- param model_id TEXT  the model
-- param count INTEGER  rows, each the mean of tokens that are alike
-- param components INTEGER  numbers of a row
-- param bits INTEGER  of a number
-- param tokens BLOB  the rows, then the scale of each
INSERT INTO chunk_tokens (chunk_rowid, model_id, count, components, bits, tokens)
VALUES (:chunk_rowid, :model_id, :count, :components, :bits, :tokens)
ON CONFLICT (chunk_rowid, model_id) DO UPDATE SET
  count = excluded.count, components = excluded.components, bits = excluded.bits, tokens = excluded.tokens;
