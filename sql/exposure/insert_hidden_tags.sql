-- Hide the documents with any of the tags, or one below it: hiding a hides a/b.
-- version 1
-- param tags_json TEXT  JSON array of tags
INSERT OR IGNORE INTO temp.hidden_documents (doc_id)
SELECT t.doc_id
FROM main.document_tags AS t
JOIN json_each(:tags_json) AS hidden
  ON t.tag = hidden.value COLLATE NOCASE OR substr(t.tag, 1, length(hidden.value) + 1) = hidden.value || '/' COLLATE NOCASE;
