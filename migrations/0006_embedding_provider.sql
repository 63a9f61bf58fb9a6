-- What computed the vector of an answered question.

-- NULL: the answer was made by words alone, or before this was kept.
ALTER TABLE answers ADD COLUMN embedding_provider TEXT;
