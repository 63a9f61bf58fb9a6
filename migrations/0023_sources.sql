-- Which source a document is of: the workspace, or the name of a further source in the configuration.
ALTER TABLE documents ADD COLUMN source TEXT NOT NULL DEFAULT 'workspace';
CREATE INDEX idx_docs_source ON documents (source);
