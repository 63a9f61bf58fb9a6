-- Show what the background was computed from, and how many chunks there are now.
-- version 2
-- column version TEXT?  models and questions; NULL before the first time, and where what was computed is gone
-- column chunks INTEGER?  how many chunks there were
-- column revision INTEGER?  the corpus revision there was
-- column chunks_now INTEGER  how many there are
-- column revision_now INTEGER  the corpus revision there is
SELECT
  (
    SELECT value ->> 0 FROM kv
    WHERE key = 'background_state' AND (value ->> 1 = 0 OR EXISTS (SELECT 1 FROM background_nearness))
  ) AS version,
  (SELECT value ->> 1 FROM kv WHERE key = 'background_state') AS chunks,
  (SELECT value ->> 2 FROM kv WHERE key = 'background_state') AS revision,
  (SELECT value FROM kv WHERE key = 'chunk_total') AS chunks_now,
  (SELECT value FROM kv WHERE key = 'corpus_revision') AS revision_now;
