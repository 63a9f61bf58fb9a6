-- Judge by a weight that was fitted to the owner's own questions; the shipped ones stay beside it.
-- version 1
-- param model TEXT  about, right or right_limits
-- param feature TEXT  what the weight multiplies; of right_limits the precision
-- param weight REAL  the weight; of right_limits the limit
-- param version TEXT  label of the fit: the shipped one it rescales, and what it was rescaled by
-- param questions INTEGER  how many it was fitted on
-- param updated_at TEXT  RFC 3339 UTC
INSERT INTO fitted_weights (model, feature, weight, version, questions, updated_at)
VALUES (:model, :feature, :weight, :version, :questions, :updated_at);
