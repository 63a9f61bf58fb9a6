-- One row per sentence of a kept answer: what it says, whether its sources support it, and the quotation.
CREATE VIEW answer_claims AS
SELECT
  a.trace_id,
  a.created_at,
  a.query AS question,
  c.key + 1 AS claim_no,
  c.value ->> 'status' AS status,
  c.value ->> 'text' AS claim,
  c.value ->> 'reason' AS reason,
  c.value -> 'passages' AS passages_json,
  c.value ->> 'quote' AS quote,
  c.value ->> '$.citation.path' AS cited_path
FROM answers AS a
JOIN json_each(a.claims_json) AS c;
