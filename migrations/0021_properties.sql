-- What is known of documents, a row a value: what they say of themselves, dates, titles, tags. Triggers fill it.

-- position: the place of an item in its list, from 0. value: text as it is written, a day (2026-03-01)
-- or a time, true or false; number: that of a number, else NULL.
CREATE TABLE document_properties (
  doc_id TEXT NOT NULL REFERENCES documents (doc_id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  position INTEGER NOT NULL CHECK (position >= 0),
  kind TEXT NOT NULL CHECK (kind IN ('text', 'number', 'date', 'bool')),
  value TEXT NOT NULL,
  number REAL,
  PRIMARY KEY (doc_id, name, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_document_properties_name ON document_properties (name COLLATE NOCASE);
