-- How near a question stands to each of some chunks: as a whole, by title and headings, by its best sentence.
--
-- All under the secondary model, an encoder of sentences. sqlite-vec must be loaded.
-- version 1
-- param rowids_json TEXT  JSON array of the chunks' numbers
-- param question BLOB  the question under the secondary model, float32 little-endian, L2 = 1
-- param question_int8 BLOB  the same as int8, its largest component 127
-- column chunk_rowid INTEGER  the chunk's number
-- column passage REAL?  cosine to the chunk as a whole; NULL without its vector
-- column heading REAL?  cosine to its title and headings; NULL where its sentences have no vectors yet
-- column sentence REAL?  cosine to its best sentence; NULL where it has none
SELECT
  CAST(wanted.value AS INTEGER) AS chunk_rowid,
  (
    SELECT 1 - vec_distance_cosine(v.embedding, :question) FROM vec_secondary AS v WHERE v.chunk_rowid = wanted.value
  ) AS passage,
  (
    SELECT 1 - vec_distance_cosine(vec_int8(s.vector), vec_int8(:question_int8))
    FROM chunk_sentences AS s
    WHERE s.chunk_rowid = wanted.value AND s.position = 0
  ) AS heading,
  (
    SELECT max(1 - vec_distance_cosine(vec_int8(s.vector), vec_int8(:question_int8)))
    FROM chunk_sentences AS s
    WHERE s.chunk_rowid = wanted.value AND s.position > 0
  ) AS sentence
FROM json_each(:rowids_json) AS wanted
ORDER BY wanted.key;
