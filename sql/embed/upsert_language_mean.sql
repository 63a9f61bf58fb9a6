-- Keep the mean vector of one language under one model.
-- version 1
-- param slot TEXT  primary or secondary
-- param lang TEXT  the language
-- param chunks INTEGER  how many vectors it is the mean of
-- param mean BLOB  float32 little-endian, not normalised
-- param norm REAL  its length
-- param version TEXT  label of the method
-- param origin TEXT  what it was computed from
-- param updated_at TEXT  RFC 3339 UTC
INSERT INTO language_means (slot, lang, chunks, mean, norm, version, origin, updated_at)
VALUES (:slot, :lang, :chunks, :mean, :norm, :version, :origin, :updated_at)
ON CONFLICT (slot, lang) DO UPDATE SET
  chunks = excluded.chunks, mean = excluded.mean, norm = excluded.norm, version = excluded.version,
  origin = excluded.origin, updated_at = excluded.updated_at;
