-- Forget which model the mirror held.
-- version 2
DELETE FROM embedding_slots WHERE slot = 'primary';
