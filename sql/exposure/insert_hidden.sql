-- Hide documents by their ids.
-- param doc_ids_json TEXT  JSON array of document ids
INSERT OR IGNORE INTO temp.hidden_documents (doc_id)
SELECT value
FROM json_each(:doc_ids_json);
