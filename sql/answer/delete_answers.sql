-- Forget every answer.
-- returns changes
DELETE FROM answers;
