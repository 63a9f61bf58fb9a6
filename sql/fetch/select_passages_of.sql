-- List the places of a document's passages, in their order, without their text.
-- returns many PassagePlace
-- param doc_id TEXT  the document
-- column chunk_id TEXT  the passage
-- column citation TEXT  its place, as a URI
-- column heading_path_json TEXT  JSON array of headings, outermost first
-- column source_spans_json TEXT  JSON array of spans
-- column line_start INTEGER?  its first line, from 1; NULL where it has no lines
-- column line_end INTEGER?  its last line
SELECT s.chunk_id, s.citation, c.heading_path_json, c.source_spans_json, s.line_start, s.line_end
FROM chunk_source AS s
JOIN chunks AS c USING (chunk_rowid)
WHERE s.doc_id = :doc_id
ORDER BY c.ordinal, c.chunk_rowid;
