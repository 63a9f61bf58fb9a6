-- List the weights that kb came with, of one model of `weights`.
-- version 1
-- param model TEXT  which
-- column feature TEXT  what the weight multiplies
-- column weight REAL  the weight
-- column version TEXT  label of the fit
SELECT s.feature, s.weight, s.version FROM shipped_weights AS s WHERE s.model = :model ORDER BY s.feature;
