-- List what agents were given, the last first.
-- returns many kb.domain.results.answers.Disclosure
-- param client TEXT?  by this agent; NULL = any
-- param tool TEXT?  by this tool; NULL = any
-- param row_limit INTEGER  at most so many
-- column disclosed_at TEXT  RFC 3339
-- column client TEXT  the agent, as it names itself
-- column tool TEXT  the tool, resource or prompt
-- column asked TEXT  the beginning of what was asked
-- column places_json TEXT  JSON array of citations, paths or ids
-- column tokens INTEGER  of the result
-- column outcome TEXT  given, or the code of an error
SELECT disclosed_at, client, tool, asked, places_json, tokens, outcome
FROM disclosures
WHERE (:client IS NULL OR client = :client) AND (:tool IS NULL OR tool = :tool)
ORDER BY disclosure_id DESC
LIMIT :row_limit;
