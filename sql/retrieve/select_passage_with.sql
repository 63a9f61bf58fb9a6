-- Show whether a passage is found by an expression.
-- returns one PassageWith
-- param match_expr TEXT  FTS5 expression
-- column found INTEGER  1 where there is one
SELECT EXISTS (SELECT 1 FROM chunks_fts WHERE chunks_fts MATCH :match_expr) AS found;
