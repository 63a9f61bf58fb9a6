-- Change the citations of a turn.
-- param turn_id TEXT  the turn
-- param citations_json TEXT  JSON array
UPDATE chat_turns SET citations_json = :citations_json WHERE turn_id = :turn_id;
