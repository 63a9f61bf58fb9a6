-- Set the corpus revision that a connection sees.
-- param revision INTEGER  another one wherever what it sees has changed
INSERT OR REPLACE INTO temp.shown_counts (key, value)
VALUES ('corpus_revision', :revision);
