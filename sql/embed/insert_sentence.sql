-- Keep the vector of one sentence, or of a title with its headings.
-- version 1
-- param chunk_rowid INTEGER  the chunk's number
-- param position INTEGER  0 = title and headings, sentences from 1
-- param start_char INTEGER  where it begins in the chunk's text
-- param end_char INTEGER  where it ends, exclusive
-- param vector BLOB  int8 vector, its largest component 127
INSERT INTO chunk_sentences (chunk_rowid, position, start_char, end_char, vector)
VALUES (:chunk_rowid, :position, :start_char, :end_char, :vector)
ON CONFLICT (chunk_rowid, position) DO UPDATE SET
  start_char = excluded.start_char, end_char = excluded.end_char, vector = excluded.vector;
