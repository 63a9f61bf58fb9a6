-- What passages rank by: their tokens under a model, averaged where they are alike, a row of components for eight of them.

-- `tokens`: count x components / 2 bytes, row after row, component j in the low four bits of byte j and component
-- j + components / 2 in the high ones, each 8 more than its value of -7 to 7; then the scale of each row as float16.
CREATE TABLE chunk_tokens (
  chunk_rowid INTEGER NOT NULL,
  model_id TEXT NOT NULL,
  count INTEGER NOT NULL CHECK (count > 0),
  components INTEGER NOT NULL CHECK (components > 0),
  bits INTEGER NOT NULL CHECK (bits = 4),
  tokens BLOB NOT NULL CHECK (length(tokens) = count * (components / 2 + 2)),
  PRIMARY KEY (chunk_rowid, model_id)
) STRICT;

-- What one encoder does without: the second model's vectors, vectors of sentences, what other questions reach, the means by
-- which languages were compared, and weights of what was read by hand.
DELETE FROM embedding_slots WHERE slot = 'secondary';
DROP TABLE IF EXISTS vec_secondary;
DROP TABLE chunk_sentences;
DROP TABLE background_nearness;
DROP TABLE language_means;
DROP TABLE fitted_weights;
DROP TABLE evidence_calibrations;
DELETE FROM kv WHERE key IN ('sentence_version', 'background_state');
