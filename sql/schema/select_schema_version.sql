-- Read the schema and index versions in the file.
-- returns one SchemaVersion
-- column schema_version INTEGER  number of the last migration applied; 0 where it is not said, -1 where what is said is no number
-- column repeatable_hash TEXT  BLAKE3 of sql/views and sql/triggers as last created
-- column fts_version TEXT  label of the definition that the rows of the lexical index were built by
-- column repeatable_names_json TEXT?  JSON array of the views and triggers kb made, and of all else it made; a user's own are not in it
-- column last_migration INTEGER?  number of the last migration recorded
-- column objects_hash TEXT?  BLAKE3 of the statements that made those; NULL in a file that does not say
SELECT
  coalesce(
    (
      SELECT iif(value = CAST(CAST(value AS INTEGER) AS TEXT), CAST(value AS INTEGER), -1)
      FROM schema_meta WHERE key = 'schema_version'
    ),
    0
  ) AS schema_version,
  coalesce((SELECT value FROM schema_meta WHERE key = 'repeatable_hash'), '') AS repeatable_hash,
  coalesce((SELECT value FROM schema_meta WHERE key = 'fts_version'), '') AS fts_version,
  (SELECT value FROM schema_meta WHERE key = 'repeatable_names_json') AS repeatable_names_json,
  (SELECT max(id) FROM migrations) AS last_migration,
  (SELECT value FROM schema_meta WHERE key = 'objects_hash') AS objects_hash;
