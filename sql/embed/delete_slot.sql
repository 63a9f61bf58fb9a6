-- Delete the model of the mirror's vectors.
DELETE FROM embedding_slots WHERE slot = 'primary';
