-- Read what judges the passages that were read: the models in force, and which of them kb came with.
-- version 1
-- column model TEXT  about or right
-- column origin TEXT  shipped or fitted
-- column version TEXT  label of the fit
-- column shipped TEXT  label of the fit that kb came with
-- column questions INTEGER?  how many it was fitted on; NULL as shipped
-- column updated_at TEXT?  RFC 3339 UTC; NULL as shipped
SELECT w.model, w.origin, w.version, s.version AS shipped, f.questions, f.updated_at
FROM weights AS w
JOIN shipped_weights AS s ON s.model = w.model AND s.feature = w.feature
LEFT JOIN fitted_weights AS f ON f.model = w.model AND f.feature = w.feature
WHERE w.model IN ('about', 'right') AND w.feature = 'bias'
ORDER BY w.model;
