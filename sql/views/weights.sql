-- The weights that rank and judge what is found, a row for each feature: fitted on the owner's own questions, else as shipped.
--
-- `rank` orders the passages of a hybrid search, `right` and `about` judge the first of them. docs/retrieval.md and docs/answers.md
-- say what was fitted on what, and what it reaches.
-- version 2
CREATE VIEW weights AS
WITH shipped (model, version, feature, weight) AS (
  VALUES
    ('rank', 'rank-1', 'other', 0.4178),
    ('rank', 'rank-1', 'other.e5', 1.32),
    ('rank', 'rank-1', 'other.e5_by_meaning', 1.04),
    ('rank', 'rank-1', 'other.heading', 0.6188),
    ('rank', 'rank-1', 'other.sentence', 1.093),
    ('rank', 'rank-1', 'other.sentence_by_meaning', 0.886),
    ('rank', 'rank-1', 'other.use', 1.159),
    ('rank', 'rank-1', 'other.use_by_meaning', 0.9151),
    ('rank', 'rank-1', 'other.words', 1.74),
    ('rank', 'rank-1', 'other_by_meaning', 0.3259),
    ('rank', 'rank-1', 'own.e5', 1.895),
    ('rank', 'rank-1', 'own.e5_by_meaning', 1.374),
    ('rank', 'rank-1', 'own.heading', 0.315),
    ('rank', 'rank-1', 'own.sentence', 0.9481),
    ('rank', 'rank-1', 'own.sentence_by_meaning', 0.727),
    ('rank', 'rank-1', 'own.use', 0.4349),
    ('rank', 'rank-1', 'own.use_by_meaning', 0.6005),
    ('rank', 'rank-1', 'own.words', 2.655),
    ('sentence', 'sentence-1', 'announces', -0.3355),
    ('sentence', 'sentence-1', 'asks', -0.05917),
    ('sentence', 'sentence-1', 'bigrams', 2.008),
    ('sentence', 'sentence-1', 'code', -0.3072),
    ('sentence', 'sentence-1', 'cosine', 1.872),
    ('sentence', 'sentence-1', 'expected', 0.9926),
    ('sentence', 'sentence-1', 'heading_terms', 2.189),
    ('sentence', 'sentence-1', 'length', 0.5714),
    ('sentence', 'sentence-1', 'own_terms', 3.448),
    ('sentence', 'sentence-1', 'previous_terms', 1.775),
    ('about', 'about-1', 'bias', -2.764),
    ('about', 'about-1', 'margin', -0.02616),
    ('about', 'about-1', 'most_words', 3.304),
    ('about', 'about-1', 'nearest_sentence', 0.09784),
    ('about', 'about-1', 'nearness', 0.6421),
    ('about', 'about-1', 'other', 0.7748),
    ('about', 'about-1', 'passage_terms', 0.9062),
    ('about', 'about-1', 'share', 1.831),
    ('right', 'right-1', 'bias', -3.78),
    ('right', 'right-1', 'bigrams', -0.2054),
    ('right', 'right-1', 'margin', 0.05982),
    ('right', 'right-1', 'most_words', 1.174),
    ('right', 'right-1', 'nearest_sentence', 0.05554),
    ('right', 'right-1', 'nearness', 0.5354),
    ('right', 'right-1', 'other', 0.4497),
    ('right', 'right-1', 'own_terms', 2.822),
    ('right', 'right-1', 'passage_terms', -0.307),
    ('right', 'right-1', 'sentence', -0.1507),
    ('right', 'right-1', 'share', 3.075),
    ('right', 'right-1', 'words', -0.2397),
    ('right_limits', 'right-1', '0.70', 0.23),
    ('right_limits', 'right-1', '0.75', 0.3),
    ('right_limits', 'right-1', '0.80', 0.37),
    ('right_limits', 'right-1', '0.85', 0.42),
    ('right_limits', 'right-1', '0.90', 0.62),
    ('right_limits', 'right-1', '0.95', 0.89)
)
SELECT f.model, f.version, f.feature, f.weight, 'fitted' AS origin FROM fitted_weights AS f
UNION ALL
SELECT s.model, s.version, s.feature, s.weight, 'shipped' AS origin
FROM shipped AS s
WHERE NOT EXISTS (SELECT 1 FROM fitted_weights AS f WHERE f.model = s.model);
