-- Count the vectors of the mirror.
-- version 1
-- tables vec_primary, vec_secondary  the mirror of a slot
-- column rows INTEGER  rows of the mirror
SELECT count(*) AS rows FROM vec_primary_rowids;
