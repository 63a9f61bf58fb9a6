-- What reading a passage goes by: its sentences, each with its vector under the secondary model.

-- Position 0 is the title with the headings; the sentences of the text follow from 1. The vector is int8, scaled so
-- that its largest component is 127: a cosine does not know the scale.
CREATE TABLE chunk_sentences (
  chunk_rowid INTEGER NOT NULL,
  position INTEGER NOT NULL CHECK (position >= 0),
  start_char INTEGER NOT NULL CHECK (start_char >= 0),
  end_char INTEGER NOT NULL CHECK (end_char >= start_char),
  vector BLOB NOT NULL,
  PRIMARY KEY (chunk_rowid, position)
) STRICT, WITHOUT ROWID;

-- Weights that were fitted to the owner's own questions; the view `weights` shows them in place of the shipped ones.
CREATE TABLE fitted_weights (
  model TEXT NOT NULL,
  feature TEXT NOT NULL,
  weight REAL NOT NULL,
  version TEXT NOT NULL,
  questions INTEGER NOT NULL,
  updated_at TEXT NOT NULL,
  PRIMARY KEY (model, feature)
) STRICT;
