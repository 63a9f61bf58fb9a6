-- Store the morphemes of each written Korean unit of a document; a trigger adds it to korean_units.
-- param doc_id TEXT  the document
-- param units_json TEXT  JSON [[surface, morphemes, occurrences], …]
INSERT INTO document_korean_units (
  doc_id, units_json
) VALUES (
  :doc_id, :units_json
);
