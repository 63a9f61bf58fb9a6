-- Read the model of the mirror's vectors; no row without one.
-- returns one MirroredModel
-- column model_id TEXT  the model
-- column model_version TEXT  version of its weights
-- column dimensions INTEGER  of its vectors
-- column lance_table TEXT  the Lance table the mirror follows
SELECT model_id, model_version, dimensions, lance_table FROM embedding_slots WHERE slot = 'primary';
