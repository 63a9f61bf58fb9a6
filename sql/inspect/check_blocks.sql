-- Count the blocks that are gone: those that a chunk names, and those between others of their document.
-- returns one MissingBlocks
-- column missing INTEGER  blocks
SELECT
  (
    SELECT count(*) FROM chunks AS c CROSS JOIN json_each(c.block_ids_json) AS named
    WHERE NOT EXISTS (SELECT 1 FROM blocks AS b WHERE b.block_id = named.value)
  ) + (
    SELECT coalesce(sum(lost), 0)
    FROM (SELECT max(ordinal) + 1 - count(*) AS lost FROM blocks GROUP BY doc_id)
  ) AS missing;
