-- Remove a vector from the mirror.
-- batch MirrorKey
-- param chunk_rowid INTEGER  the chunk's number
DELETE FROM vec_primary WHERE chunk_rowid = :chunk_rowid;
