-- Hide documents by their ids.
-- version 1
-- param doc_ids_json TEXT  JSON array of document ids
INSERT OR IGNORE INTO temp.hidden_documents (doc_id)
SELECT value
FROM json_each(:doc_ids_json);
