-- Find answers by a prefix of their id.
-- returns many FoundAnswer
-- param prefix TEXT  the start of an id
-- column id TEXT  the answer
-- column label TEXT  its question
SELECT trace_id AS id, query AS label
FROM answers
WHERE trace_id >= :prefix AND trace_id < :prefix || '~'
ORDER BY trace_id
LIMIT 6;
