-- Count the chunks that lack a sentence vector, or have a wrong one.
-- version 1
-- column unread INTEGER  chunks of notes
SELECT count(*) AS unread FROM unread_chunks;
