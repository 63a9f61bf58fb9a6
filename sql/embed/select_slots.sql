-- List the models whose vectors stand in vec_primary and vec_secondary.
-- version 1
-- column slot TEXT  primary or secondary
-- column model_id TEXT  the model
-- column model_version TEXT  version of its weights
-- column dimensions INTEGER  of its vectors
-- column lance_table TEXT  the Lance table the mirror follows
SELECT slot, model_id, model_version, dimensions, lance_table FROM embedding_slots ORDER BY slot;
