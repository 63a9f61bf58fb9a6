-- List what the answers were made of that cite documents of a source.
-- returns many CitedAnswer
-- param prefix TEXT  the source's name and a colon
-- column trace_id TEXT  the answer
-- column citations_json TEXT  JSON array
-- column packed_chunks_json TEXT?  JSON array of the passages as they were given
-- column claims_json TEXT  JSON array of the answer's sentences with their checks
-- column hops_json TEXT?  JSON array of the steps of a deep answer
SELECT trace_id, citations_json, packed_chunks_json, claims_json, hops_json
FROM answers
WHERE instr(citations_json || coalesce(packed_chunks_json, '') || claims_json || coalesce(hops_json, ''), '"' || :prefix) > 0
ORDER BY trace_id;
