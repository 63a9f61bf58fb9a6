-- Forget the mean vectors of one model, before they are computed again.
-- version 1
-- param slot TEXT  primary or secondary
DELETE FROM language_means WHERE slot = :slot;
