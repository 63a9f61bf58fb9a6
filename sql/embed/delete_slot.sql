-- Forget which model a mirror table held.
-- version 1
-- param slot TEXT  primary or secondary
DELETE FROM embedding_slots WHERE slot = :slot;
