-- Make a language known whose first vectors are written: searches go by these languages. Its mean is computed later.
-- version 1
-- param slot TEXT  primary or secondary
-- param lang TEXT  the language
-- param updated_at TEXT  RFC 3339 UTC
INSERT INTO language_means (slot, lang, chunks, mean, norm, version, origin, updated_at)
SELECT s.slot, :lang, 0, zeroblob(4 * s.dimensions), 0.0, 'none', 'not computed yet', :updated_at
FROM embedding_slots AS s
WHERE s.slot = :slot
ON CONFLICT (slot, lang) DO NOTHING;
