-- The chunks of notes that lack a sentence vector, or have one that is no vector of the secondary model.
-- Sentences are numbered from 1 without a gap; where 0, the title with the headings, ends is how many there are.
-- version 1
CREATE VIEW unread_chunks AS
SELECT c.chunk_rowid
FROM embedding_slots AS m
CROSS JOIN chunks AS c
LEFT JOIN chunk_sentences AS s ON s.chunk_rowid = c.chunk_rowid
WHERE m.slot = 'secondary' AND c.symbol_text IS NULL
GROUP BY c.chunk_rowid
HAVING count(s.position) = 0
  OR count(s.position) <> max(s.position) + 1
  OR max(iif(s.position = 0, s.end_char, 0)) NOT IN (0, max(s.position))
  OR max(length(s.vector) <> m.dimensions OR s.vector = zeroblob(m.dimensions));
