-- Read what defines the rows of the lexical index: its table with the tokenizer, the view and the triggers that fill it.
-- returns many FtsDefinition
-- column statement TEXT  as it was created
SELECT sql AS statement
FROM sqlite_schema
WHERE name IN ('chunks_fts', 'chunks_ai', 'chunks_au', 'index_chunk', 'indexed_chunks',
  'code_ai', 'code_au', 'index_code', 'indexed_code'
)
ORDER BY name;
