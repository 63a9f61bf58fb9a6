-- Count the vectors of the mirror.
-- version 1
-- column rows INTEGER  rows of the mirror
SELECT count(*) AS rows FROM vec_primary_rowids;
