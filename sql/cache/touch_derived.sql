-- Remember that a derived result was used, so that the least used go first.
-- param content_hash TEXT  BLAKE3 of the content, hex
-- param name TEXT  pdf-text, ocr, caption or transcript; with -unfinished after it, what its engine had so far
-- param engine TEXT  the engine with its version and settings
-- param used_at INTEGER  seconds since 1970
UPDATE derived SET used_at = :used_at
WHERE content_hash = :content_hash AND name = :name AND engine = :engine AND used_at < :used_at;
