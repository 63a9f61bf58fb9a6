-- The weights that rank and judge what is found, a row for each feature: fitted on the owner's own questions, else as shipped.
--
-- `rank` orders the passages of a hybrid search, `right` and `about` judge the first of them. docs/retrieval.md and docs/answers.md
-- say what was fitted on what, and what it reaches.
-- version 1
CREATE VIEW weights AS
WITH shipped (model, version, feature, weight) AS (
  VALUES
    ('rank', 'rank-1', 'other', 0.2916),
    ('rank', 'rank-1', 'other.e5', 1.632),
    ('rank', 'rank-1', 'other.e5_by_meaning', 0.9787),
    ('rank', 'rank-1', 'other.heading', 0.4234),
    ('rank', 'rank-1', 'other.sentence', 0.797),
    ('rank', 'rank-1', 'other.sentence_by_meaning', 0.9134),
    ('rank', 'rank-1', 'other.use', 0.9095),
    ('rank', 'rank-1', 'other.use_by_meaning', 1.07),
    ('rank', 'rank-1', 'other.words', 2.189),
    ('rank', 'rank-1', 'other_by_meaning', 0.0132),
    ('rank', 'rank-1', 'own.e5', 1.965),
    ('rank', 'rank-1', 'own.e5_by_meaning', 1.607),
    ('rank', 'rank-1', 'own.heading', 0.07201),
    ('rank', 'rank-1', 'own.sentence', 0.5968),
    ('rank', 'rank-1', 'own.sentence_by_meaning', 1.296),
    ('rank', 'rank-1', 'own.use', 0.4152),
    ('rank', 'rank-1', 'own.use_by_meaning', 0.8532),
    ('rank', 'rank-1', 'own.words', 2.354)
)
SELECT f.model, f.version, f.feature, f.weight, 'fitted' AS origin FROM fitted_weights AS f
UNION ALL
SELECT s.model, s.version, s.feature, s.weight, 'shipped' AS origin
FROM shipped AS s
WHERE NOT EXISTS (SELECT 1 FROM fitted_weights AS f WHERE f.model = s.model);
