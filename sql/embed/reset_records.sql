-- Declare all vectors of a Lance table uncommitted: the mirror that had them is empty.
-- param lance_table TEXT  where they are
UPDATE embedding_records SET status = 'pending' WHERE lance_table = :lance_table;
