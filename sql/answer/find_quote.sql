-- Find the passages that hold a quotation, whatever their file is called now.
-- returns many QuotePlace
-- param quote TEXT  the quotation, verbatim, in NFC
-- column workspace_path TEXT  path below the workspace root
-- column source_path TEXT  absolute path on this machine
-- column source_spans_json TEXT  JSON array of the passage's spans
SELECT d.workspace_path, d.source_path, c.source_spans_json
FROM chunks AS c
JOIN documents AS d USING (doc_id)
WHERE instr(c.text, :quote) > 0 OR instr(c.nfc_text, :quote) > 0
ORDER BY d.workspace_path, c.chunk_rowid
LIMIT 5;
