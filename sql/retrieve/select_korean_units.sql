-- Look up the morphemes of written Korean units in the index, to split a question the same way.
-- returns many KoreanUnitRow
-- param surfaces_json TEXT  JSON array of Hangul strings
-- column surface TEXT  the unit as written
-- column morphemes TEXT  its content morphemes, separated by spaces; '' for particles and endings
-- column occurrences INTEGER  how often it stood for them
SELECT u.surface, u.morphemes, u.occurrences
FROM json_each(:surfaces_json) AS wanted
JOIN korean_units AS u ON u.surface = wanted.value
ORDER BY u.surface, u.morphemes;
