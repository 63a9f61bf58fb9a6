-- Read how many Korean units the index has counted in all.
-- returns one KoreanUnitTotal
-- column total INTEGER  sum of korean_units.occurrences
SELECT value AS total FROM kv WHERE key = 'korean_unit_total';
