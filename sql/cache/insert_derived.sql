-- Store an engine's result for the next file with the same content.
-- param content_hash TEXT  BLAKE3 of the content, hex
-- param name TEXT  pdf-text, ocr, caption or transcript; with -unfinished after it, what its engine had so far
-- param engine TEXT  the engine with its version and settings
-- param data BLOB  JSON, compressed by zlib
-- param used_at INTEGER  seconds since 1970
INSERT INTO derived (content_hash, name, engine, data, used_at)
VALUES (:content_hash, :name, :engine, :data, :used_at)
ON CONFLICT (content_hash, name, engine) DO UPDATE SET data = excluded.data, used_at = excluded.used_at;
