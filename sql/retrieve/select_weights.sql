-- List the weights in force of one model of `weights`.
-- version 1
-- param model TEXT  which
-- column feature TEXT  what the weight multiplies
-- column weight REAL  the weight
-- column version TEXT  label of the fit
SELECT w.feature, w.weight, w.version FROM weights AS w WHERE w.model = :model ORDER BY w.feature;
