-- Copy the mean vectors of the languages, for one connection; update_shown_mean takes the hidden vectors out of them.
-- version 1
DROP TABLE IF EXISTS temp.language_means;
CREATE TEMP TABLE language_means (
  slot TEXT NOT NULL,
  lang TEXT NOT NULL,
  chunks INTEGER NOT NULL,
  mean BLOB NOT NULL,
  norm REAL NOT NULL,
  version TEXT NOT NULL,
  origin TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  PRIMARY KEY (slot, lang)
) STRICT;
INSERT INTO temp.language_means (slot, lang, chunks, mean, norm, version, origin, updated_at)
SELECT slot, lang, chunks, mean, norm, version, origin, updated_at
FROM main.language_means;
