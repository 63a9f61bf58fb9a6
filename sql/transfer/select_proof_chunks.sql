-- Read each chunk with its text, in the order of the ids.
-- returns each ProofChunk
-- column chunk_id TEXT  of its document, its blocks and how it was cut
-- column text TEXT  its text
SELECT chunk_id, text FROM chunks ORDER BY chunk_id;
