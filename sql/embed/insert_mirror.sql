-- Mirror a vector for queries in SQL.
-- version 1
-- tables vec_primary, vec_secondary  the mirror of a slot
-- param chunk_rowid INTEGER  the chunk's number
-- param lang TEXT  language of the chunk's text; the mirror is searched one language at a time
-- param embedding BLOB  float32 little-endian, L2 = 1
INSERT INTO vec_primary (chunk_rowid, lang, embedding) VALUES (:chunk_rowid, :lang, :embedding);
