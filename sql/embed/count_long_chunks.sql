-- Count the chunks whose text is longer than a window: they are embedded window by window and averaged.
-- returns one LongChunks
-- param lance_table TEXT  where the vectors are
-- param window_tokens INTEGER  tokens the model sees at once
-- column counted INTEGER  chunks with a known number of tokens
-- column long INTEGER  of them, longer than the window
-- column longest_tokens INTEGER  the longest
SELECT
  count(token_count) AS counted,
  count(*) FILTER (WHERE token_count > :window_tokens) AS long,
  coalesce(max(token_count), 0) AS longest_tokens
FROM embedding_records
WHERE lance_table = :lance_table AND status = 'committed';
