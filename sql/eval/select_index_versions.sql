-- Read the versions of parsers, chunkers and policies in the index, each once.
-- returns one IndexVersions
-- column parsers_json TEXT  JSON array of parser versions
-- column chunkers_json TEXT  JSON array of chunker versions
-- column policies_json TEXT  JSON array of hashes of chunking policies
SELECT
  (SELECT json_group_array(label) FROM (SELECT DISTINCT parser_version AS label FROM documents ORDER BY label))
    AS parsers_json,
  (SELECT json_group_array(label) FROM (SELECT DISTINCT chunker_version AS label FROM chunks ORDER BY label))
    AS chunkers_json,
  (SELECT json_group_array(label) FROM (SELECT DISTINCT policy_hash AS label FROM chunks ORDER BY label))
    AS policies_json;
