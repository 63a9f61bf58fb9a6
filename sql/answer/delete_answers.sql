-- Forget every answer.
-- version 1
DELETE FROM answers;
