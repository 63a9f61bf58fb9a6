-- Read what defines the rows of the lexical index: its table with the tokenizer, and the triggers that fill it.
-- version 1
-- column statement TEXT  as it was created
SELECT sql AS statement FROM sqlite_schema WHERE name IN ('chunks_fts', 'chunks_ai', 'chunks_au') ORDER BY name;
