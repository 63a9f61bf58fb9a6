-- Give a connection a corpus revision of its own.
-- param revision INTEGER  another one wherever what it sees has changed
INSERT OR REPLACE INTO temp.shown_counts (key, value)
VALUES ('corpus_revision', :revision);
