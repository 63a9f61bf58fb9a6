-- Forget the records of a Lance table that another version of the model wrote: the table holds one version's vectors.
-- param lance_table TEXT  the Lance table
-- param model_id TEXT  the model whose records stay
-- param model_version TEXT  and the version of its weights
DELETE FROM embedding_records
WHERE lance_table = :lance_table AND (model_id <> :model_id OR model_version <> :model_version);
