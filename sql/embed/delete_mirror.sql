-- Remove a vector from the mirror.
-- version 1
-- param chunk_rowid INTEGER  the chunk's number
DELETE FROM vec_primary WHERE chunk_rowid = :chunk_rowid;
