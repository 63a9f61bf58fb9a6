-- Declare vectors complete without the tokens that were kept beside them.
-- param lance_table TEXT  where the vectors are
-- param with_tokens TEXT  form of the text and of the tokens
-- param passage_version TEXT  form of the text
UPDATE embedding_records
SET passage_version = :passage_version
WHERE lance_table = :lance_table AND passage_version = :with_tokens;
