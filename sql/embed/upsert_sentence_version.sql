-- Note what makes the sentence vectors.
-- version 1
-- param version TEXT  model, its version, and how texts are cut into sentences
INSERT INTO kv (key, value) VALUES ('sentence_version', :version)
ON CONFLICT (key) DO UPDATE SET value = excluded.value;
