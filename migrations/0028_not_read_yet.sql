-- Each search asks whether there are files that an ingest has met and not read yet; most unread files are others.
CREATE INDEX idx_unread_not_read_yet ON unread_files (family) WHERE code = 'not_read_yet';
