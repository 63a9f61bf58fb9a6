-- What a question about nothing in these notes reaches in them: what nearness is compared with.

CREATE TABLE background_nearness (
  channel TEXT NOT NULL CHECK (channel IN ('passage', 'sentence')),
  query_lang TEXT NOT NULL,
  lang TEXT NOT NULL,
  mean REAL NOT NULL,
  spread REAL NOT NULL,
  PRIMARY KEY (channel, query_lang, lang)
) STRICT;

-- Whether kb stands by an answer; NULL for answers from before it said so.
ALTER TABLE answers ADD COLUMN state TEXT CHECK (state IN ('answered', 'unsure', 'refused'));
