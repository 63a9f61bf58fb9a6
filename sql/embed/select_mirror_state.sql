-- Read the key of the mirrors' state: mirrors with equal keys hold the same vectors.
-- A vector follows from its chunk, the model and the form of the text; chunks only change with the corpus revision, and
-- under one revision vectors are only added, or made again in another form.
-- returns one MirrorState
-- column state TEXT  JSON array of the corpus revision, the slots with their models, and how many vectors of each are where
SELECT json_array(
  (SELECT value FROM kv WHERE key = 'corpus_revision'),
  (
    SELECT json_group_array(json_array(slot, model_id, model_version, created_at))
    FROM (SELECT slot, model_id, model_version, created_at FROM embedding_slots ORDER BY slot)
  ),
  (
    SELECT json_group_array(json_array(model_id, model_version, dimensions, status, passage_version, vectors))
    FROM (
      SELECT model_id, model_version, dimensions, status, passage_version, count(*) AS vectors
      FROM embedding_records
      GROUP BY model_id, model_version, dimensions, status, passage_version
      ORDER BY model_id, model_version, dimensions, status, passage_version
    )
  )
) AS state;
