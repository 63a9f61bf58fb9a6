-- Change what an answer is said to be made of.
-- param trace_id TEXT  the answer
-- param citations_json TEXT  JSON array
-- param packed_chunks_json TEXT?  JSON array of the passages as they were given
-- param claims_json TEXT  JSON array of the answer's sentences with their checks
-- param hops_json TEXT?  JSON array of the steps of a deep answer
UPDATE answers
SET
  citations_json = :citations_json,
  packed_chunks_json = :packed_chunks_json,
  claims_json = :claims_json,
  hops_json = :hops_json
WHERE trace_id = :trace_id;
