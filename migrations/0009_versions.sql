-- What the index was made with and what ranked the passages of an answer, so that both can be named truly.

-- How many documents each pipeline version has; kept by triggers.
CREATE TABLE pipelines (
  pipeline_version TEXT PRIMARY KEY,
  documents INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO pipelines (pipeline_version, documents)
SELECT pipeline_version, count(*) FROM documents GROUP BY pipeline_version;

-- Written from now on as fts_version, when the rows of chunks_fts are built.
DELETE FROM schema_meta WHERE key = 'index_version';

-- NULL: the answer was given before this was kept.
ALTER TABLE answers ADD COLUMN ranking_version TEXT;
