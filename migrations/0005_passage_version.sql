-- Which form of a passage a vector was made from, so that vectors of an older form are made anew.

-- What stands here already was made from the first form.
ALTER TABLE embedding_records ADD COLUMN passage_version TEXT NOT NULL DEFAULT 'p1';

DROP INDEX idx_embed_model;
CREATE INDEX idx_embed_model ON embedding_records (model_id, model_version, dimensions, status, passage_version);
