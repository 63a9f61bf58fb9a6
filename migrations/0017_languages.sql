-- The languages that a document has text in, beside the one that most of it is in: a JSON array of codes.
ALTER TABLE documents ADD COLUMN languages_json TEXT NOT NULL DEFAULT '[]';
UPDATE documents SET languages_json = (
  SELECT json_group_array(l.lang)
  FROM (
    SELECT c.lang FROM chunks AS c WHERE c.doc_id = documents.doc_id
    UNION
    SELECT documents.lang
    UNION
    -- Morphemes are kept of every passage with Hangul in it.
    SELECT 'ko' FROM chunks AS c WHERE c.doc_id = documents.doc_id AND c.tokenized_korean_text IS NOT NULL
  ) AS l
  WHERE l.lang IS NOT NULL
);
