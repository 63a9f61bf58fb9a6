-- Forget all sentence vectors.
-- version 1
DELETE FROM chunk_sentences;
