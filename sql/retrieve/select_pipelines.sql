-- Read the versions that made the documents of the index.
-- returns many PipelineRow
-- column pipeline_version TEXT  parser, chunker, policy, morpheme and word versions
-- column documents INTEGER  documents made with them
SELECT pipeline_version, documents FROM pipelines ORDER BY pipeline_version;
