-- The weights that rank and judge what is found, a row for each feature: fitted on the owner's own questions, else as shipped.
-- version 5
CREATE VIEW weights AS
SELECT f.model, f.version, f.feature, f.weight, 'fitted' AS origin FROM fitted_weights AS f
UNION ALL
SELECT s.model, s.version, s.feature, s.weight, 'shipped' AS origin
FROM shipped_weights AS s
WHERE NOT EXISTS (SELECT 1 FROM fitted_weights AS f WHERE f.model = s.model);
