-- List the citations of the turns that cite documents of a source.
-- returns many CitedTurn
-- param prefix TEXT  the source's name and a colon
-- column turn_id TEXT  the turn
-- column citations_json TEXT  JSON array
SELECT turn_id, citations_json FROM chat_turns WHERE instr(citations_json, '"' || :prefix) > 0 ORDER BY turn_id;
