-- List the languages with a mean vector.
-- version 1
-- column slot TEXT  primary or secondary
-- column lang TEXT  the language
-- column chunks INTEGER  how many vectors it is the mean of
-- column version TEXT  label of the method
-- column origin TEXT  what it was computed from
-- column updated_at TEXT  RFC 3339 UTC
SELECT slot, lang, chunks, version, origin, updated_at FROM language_means ORDER BY slot, lang;
