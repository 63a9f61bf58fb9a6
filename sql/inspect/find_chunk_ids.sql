-- Find chunks by a prefix of the id.
-- returns many FoundId
-- param prefix TEXT  hex digits
-- column id TEXT  the chunk
-- column label TEXT  its citation
SELECT chunk_id AS id, citation AS label
FROM chunk_source
WHERE chunk_id >= :prefix AND chunk_id < :prefix || 'g'
ORDER BY chunk_id
LIMIT 6;
