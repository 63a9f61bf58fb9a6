-- Count the vectors of the mirror.
-- returns one MirrorSize
-- column rows INTEGER  rows of the mirror
SELECT count(*) AS rows FROM vec_primary_rowids;
