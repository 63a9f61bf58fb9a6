-- Store the model of the mirror's vectors.
-- param model_id TEXT  the model
-- param model_version TEXT  version of its weights
-- param dimensions INTEGER  of its vectors
-- param lance_table TEXT  the Lance table the mirror follows
-- param created_at TEXT  RFC 3339 UTC
INSERT INTO embedding_slots (slot, model_id, model_version, dimensions, lance_table, created_at)
VALUES ('primary', :model_id, :model_version, :dimensions, :lance_table, :created_at)
ON CONFLICT (slot) DO UPDATE SET
  model_id = excluded.model_id, model_version = excluded.model_version, dimensions = excluded.dimensions,
  lance_table = excluded.lance_table, created_at = excluded.created_at;
