-- List the sentence vectors with the language of their chunk, the next ones in the order of their places.
-- version 1
-- param after_rowid INTEGER  only sentences behind this chunk's number; 0 = from the start
-- param after_position INTEGER  … and behind this position in it
-- param row_limit INTEGER  at most so many
-- column chunk_rowid INTEGER  the chunk's number
-- column position INTEGER  of the sentence, from 1
-- column lang TEXT  language of the chunk
-- column vector BLOB  int8 vector
SELECT s.chunk_rowid, s.position, c.lang, s.vector
FROM chunk_sentences AS s
CROSS JOIN chunks AS c ON c.chunk_rowid = s.chunk_rowid
WHERE (s.chunk_rowid, s.position) > (:after_rowid, :after_position) AND s.position > 0
ORDER BY s.chunk_rowid, s.position
LIMIT :row_limit;
