-- Read what an engine derived from a content.
-- returns one DerivedRow
-- param content_hash TEXT  BLAKE3 of the content, hex
-- param name TEXT  pdf-text, ocr, caption or transcript; with -unfinished after it, what its engine had so far
-- param engine TEXT  the engine with its version and settings
-- column data BLOB  JSON, compressed by zlib
SELECT data FROM derived WHERE content_hash = :content_hash AND name = :name AND engine = :engine;
