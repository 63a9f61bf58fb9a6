-- Mirror a vector for queries in SQL.
-- batch MirrorRow
-- param chunk_rowid INTEGER  the chunk's number
-- param lang TEXT  language of the chunk's text
-- param embedding BLOB  float32 little-endian, L2 = 1
INSERT INTO vec_primary (chunk_rowid, lang, embedding) VALUES (:chunk_rowid, :lang, :embedding);
