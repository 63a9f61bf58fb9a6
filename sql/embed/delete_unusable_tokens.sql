-- Forget the tokens of a model that are no tokens of a passage: of the wrong size, or of a chunk that is gone.
-- param model_id TEXT  the model
-- param components INTEGER  numbers of a row; 0 = none of the model's tokens are kept
DELETE FROM chunk_tokens
WHERE model_id = :model_id AND (
  components <> :components
  OR length(tokens) <> count * (components / 2 + 2)
  OR NOT EXISTS (SELECT 1 FROM chunks AS c WHERE c.chunk_rowid = chunk_tokens.chunk_rowid)
);
