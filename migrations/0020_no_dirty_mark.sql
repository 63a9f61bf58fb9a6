-- Repositories keep branch and commit alone: whether a file differs from its commit is git's to say.

ALTER TABLE repositories DROP COLUMN is_dirty;
