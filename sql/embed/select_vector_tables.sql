-- List the Lance tables that chunks have vectors in, whether a mirror follows them or not.
-- returns many VectorTable
-- column lance_table TEXT  the table
-- column model_id TEXT  the model
-- column model_version TEXT  version of its weights
-- column dimensions INTEGER  of its vectors
-- column vectors INTEGER  committed
-- column slot TEXT?  the mirror that follows it, primary or secondary; NULL = none
SELECT
  r.lance_table,
  r.model_id,
  r.model_version,
  r.dimensions,
  count(*) FILTER (WHERE r.status = 'committed') AS vectors,
  s.slot
FROM embedding_records AS r
LEFT JOIN embedding_slots AS s ON s.lance_table = r.lance_table
GROUP BY r.lance_table, r.model_id, r.model_version, r.dimensions, s.slot
ORDER BY r.lance_table, r.model_version;
