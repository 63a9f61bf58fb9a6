-- List the mean vectors of a slot that a connection sees.
-- version 1
-- param slot TEXT  primary or secondary
-- column lang TEXT  the language
-- column chunks INTEGER  how many vectors it is the mean of
-- column mean BLOB  float32 little-endian, not normalised
SELECT lang, chunks, mean
FROM temp.language_means
WHERE slot = :slot
ORDER BY lang;
