-- Replace a mean vector that a connection sees.
-- version 1
-- param slot TEXT  primary or secondary
-- param lang TEXT  the language
-- param chunks INTEGER  how many vectors it is the mean of
-- param mean BLOB  float32 little-endian, not normalised
-- param norm REAL  its length
UPDATE temp.language_means
SET chunks = :chunks, mean = :mean, norm = :norm
WHERE slot = :slot AND lang = :lang;
