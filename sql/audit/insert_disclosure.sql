-- Record what an agent was given.
-- param disclosed_at TEXT  RFC 3339
-- param client TEXT  the agent, as it names itself
-- param tool TEXT  the tool, resource or prompt
-- param asked TEXT  the beginning of what was asked
-- param places_json TEXT  JSON array of citations, paths or ids
-- param tokens INTEGER  of the result
-- param outcome TEXT  given, or the code of an error
INSERT INTO disclosures (disclosed_at, client, tool, asked, places_json, tokens, outcome)
VALUES (:disclosed_at, :client, :tool, :asked, :places_json, :tokens, :outcome);
