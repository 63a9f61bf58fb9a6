-- The weights that rank and judge what is found, a row for each feature: fitted on the owner's own questions, else as shipped.
--
-- `rank`, `sentence`, `look` and `days` order the passages of a hybrid search, `right` and `about` judge the first of them.
-- docs/retrieval.md and docs/answers.md say what was fitted on what, and what it reaches.
-- version 4
CREATE VIEW weights AS
WITH shipped (model, version, feature, weight) AS (
  VALUES
    ('rank', 'rank-2', 'other', 0.3732),
    ('rank', 'rank-2', 'other.e5', 1.918),
    ('rank', 'rank-2', 'other.e5_by_meaning', 1.537),
    ('rank', 'rank-2', 'other.heading', 0.2415),
    ('rank', 'rank-2', 'other.sentence', 0.9825),
    ('rank', 'rank-2', 'other.sentence_by_meaning', 0.7849),
    ('rank', 'rank-2', 'other.title', 1.647),
    ('rank', 'rank-2', 'other.use', 1.431),
    ('rank', 'rank-2', 'other.use_by_meaning', 1.207),
    ('rank', 'rank-2', 'other.words', 2.171),
    ('rank', 'rank-2', 'other_by_meaning', 0.119),
    ('rank', 'rank-2', 'own.e5', 2.568),
    ('rank', 'rank-2', 'own.e5_by_meaning', 1.968),
    ('rank', 'rank-2', 'own.heading', 0.01119),
    ('rank', 'rank-2', 'own.sentence', 0.5901),
    ('rank', 'rank-2', 'own.sentence_by_meaning', 0.6123),
    ('rank', 'rank-2', 'own.title', 1.051),
    ('rank', 'rank-2', 'own.use', 0.1438),
    ('rank', 'rank-2', 'own.use_by_meaning', 0.9873),
    ('rank', 'rank-2', 'own.words', 3.03),
    ('sentence', 'sentence-2', 'announces', -0.618),
    ('sentence', 'sentence-2', 'asks', -0.1478),
    ('sentence', 'sentence-2', 'bigrams', 1.009),
    ('sentence', 'sentence-2', 'code', -0.1867),
    ('sentence', 'sentence-2', 'cosine', 3.538),
    ('sentence', 'sentence-2', 'expected', 1.855),
    ('sentence', 'sentence-2', 'heading_terms', 2.674),
    ('sentence', 'sentence-2', 'length', 0.5091),
    ('sentence', 'sentence-2', 'own_terms', 3.856),
    ('sentence', 'sentence-2', 'previous_terms', 1.695),
    ('look', 'look-2', 'logit', 0.9186),
    ('look', 'look-2', 'sentence', 0.7313),
    ('days', 'days-1', 'favoured', 8.0),
    ('about', 'about-2', 'bias', -14.29),
    ('about', 'about-2', 'bigrams', 1.27),
    ('about', 'about-2', 'cosine', 1.708),
    ('about', 'about-2', 'margin', -0.01043),
    ('about', 'about-2', 'missing', -1.5),
    ('about', 'about-2', 'nearness', 0.1099),
    ('about', 'about-2', 'other', 1.023),
    ('about', 'about-2', 'sentence', 0.4445),
    ('about', 'about-2', 'share', 1.098),
    ('about', 'about-2', 'strangers', -2.43),
    ('right', 'right-2', 'bias', -12.48),
    ('right', 'right-2', 'bigrams', 1.074),
    ('right', 'right-2', 'cosine', 1.251),
    ('right', 'right-2', 'margin', 0.0824),
    ('right', 'right-2', 'missing', -1.261),
    ('right', 'right-2', 'nearness', 0.09121),
    ('right', 'right-2', 'other', 1.029),
    ('right', 'right-2', 'sentence', 0.3114),
    ('right', 'right-2', 'share', 2.239),
    ('right', 'right-2', 'strangers', -2.207),
    ('right_limits', 'right-2', '0.70', 0.27),
    ('right_limits', 'right-2', '0.75', 0.4),
    ('right_limits', 'right-2', '0.80', 0.46),
    ('right_limits', 'right-2', '0.85', 0.62),
    ('right_limits', 'right-2', '0.90', 0.7),
    ('right_limits', 'right-2', '0.95', 0.94)
)
SELECT f.model, f.version, f.feature, f.weight, 'fitted' AS origin FROM fitted_weights AS f
UNION ALL
SELECT s.model, s.version, s.feature, s.weight, 'shipped' AS origin
FROM shipped AS s
WHERE NOT EXISTS (SELECT 1 FROM fitted_weights AS f WHERE f.model = s.model);
