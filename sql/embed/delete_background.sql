-- Forget what questions about nothing here reach.
-- version 1
DELETE FROM background_nearness;
