-- How near a question stands to each sentence of some chunks, under the secondary model. sqlite-vec must be loaded.
-- version 1
-- param rowids_json TEXT  JSON array of the chunks' numbers
-- param question_int8 BLOB  the question under the secondary model as int8, its largest component 127
-- column chunk_rowid INTEGER  the chunk's number
-- column start_char INTEGER  where the sentence begins in the chunk's text
-- column end_char INTEGER  where it ends, exclusive
-- column cosine REAL  −1 to 1
SELECT
  s.chunk_rowid,
  s.start_char,
  s.end_char,
  1 - vec_distance_cosine(vec_int8(s.vector), vec_int8(:question_int8)) AS cosine
FROM json_each(:rowids_json) AS wanted
CROSS JOIN chunk_sentences AS s ON s.chunk_rowid = wanted.value
WHERE s.position > 0
ORDER BY wanted.key, s.position;
