-- Forget which model the mirror held.
DELETE FROM embedding_slots WHERE slot = 'primary';
