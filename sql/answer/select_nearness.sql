-- Judge how likely a sentence's meaning stands in chunks: as a question's nearness to passages of another language is.
-- version 2
-- param chunk_ids_json TEXT  JSON array of chunk ids
-- param primary_vec BLOB  the sentence under the primary model, as a question: float32 little-endian, L2 = 1
-- column chunk_id TEXT  the chunk
-- column evidence REAL  0 to 1
SELECT
  c.chunk_id,
  1 / (1 + exp(-(calibration.bias + calibration.nearness * (
    1 - vec_distance_cosine(v.embedding, :primary_vec)
    - CASE  -- sqlite-vec takes no NULL
        WHEN m.mean IS NULL THEN calibration.usual_cosine
        ELSE (1 - vec_distance_cosine(m.mean, :primary_vec)) * m.norm
      END
  )))) AS evidence
FROM json_each(:chunk_ids_json) AS wanted
CROSS JOIN chunks AS c ON c.chunk_id = wanted.value
CROSS JOIN vec_primary AS v ON v.chunk_rowid = c.chunk_rowid
CROSS JOIN evidence_calibration AS calibration ON calibration.channel = 'cross'
LEFT JOIN language_means AS m ON m.slot = 'primary' AND m.lang = c.lang AND m.chunks >= 20
ORDER BY wanted.key;
