-- The steps of a deep answer: what each asked and found.

-- NULL: the answer was made in one step, or before steps were kept.
ALTER TABLE answers ADD COLUMN hops_json TEXT;
