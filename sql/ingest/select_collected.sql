-- Read whether what no document has was removed since the corpus changed.
-- returns one Collected
-- column is_collected INTEGER  1 = nothing changed since
SELECT
  (SELECT value FROM kv WHERE key = 'corpus_revision') IS (SELECT value FROM kv WHERE key = 'collected_revision')
    AS is_collected;
