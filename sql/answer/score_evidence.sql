-- Judge how likely the hits of a question hold its answer: a calibrated number in [0, 1] a channel, the best first.
--
-- Features, over the first hits: the best share of the question's weight that one passage's words carry, how far it
-- stands above the others, and how much nearer the question is to a passage than to that passage's language as a whole.
-- Across languages words say nothing, so passages in another language are judged by nearness alone, and the better of
-- the two judgements, the first row, counts. Without vectors words alone decide.
-- version 3
-- param hits_json TEXT  JSON array of the first hits, each [is_own, lexical_score, lexical_share, vector_score, nearness]
-- param bm25_max REAL?  what lexical scores are shares of, from select_term_counts; NULL where the hits bring their shares
-- column evidence REAL  0 to 1
-- column channel TEXT  what judges: own, cross or lexical
-- column version TEXT  of the calibration
-- column lexical REAL  feature: best share of bm25max, 0 to 1
-- column lexical_margin REAL  feature: the same less the mean of the other hits
-- column nearness REAL?  feature: cosine of the nearest passage less that of its language's mean
WITH
hits AS MATERIALIZED (
  SELECT
    hit.value ->> 0 AS is_own,
    hit.value ->> 1 AS lexical_score,
    hit.value ->> 2 AS lexical_share,
    hit.value ->> 3 AS vector_score,
    hit.value ->> 4 AS nearness
  FROM json_each(:hits_json) AS hit
),
shares AS MATERIALIZED (
  SELECT
    h.is_own,
    coalesce(h.lexical_share, min(1, h.lexical_score / :bm25_max), 0) AS lexical,
    h.vector_score,
    h.nearness
  FROM hits AS h
),
words AS (
  SELECT
    coalesce(max(s.lexical), 0) AS lexical,
    coalesce(max(s.lexical) - (sum(s.lexical) - max(s.lexical)) / nullif(count(*) - 1, 0), max(s.lexical), 0)
      AS lexical_margin
  FROM shares AS s
  WHERE s.is_own
),
features AS (
  SELECT 'own' AS channel, w.lexical, w.lexical_margin, max(coalesce(s.nearness, s.vector_score - c.usual_cosine))
    AS nearness
  FROM words AS w
  CROSS JOIN evidence_calibration AS c
  CROSS JOIN shares AS s
  WHERE c.channel = 'own' AND s.is_own AND s.vector_score IS NOT NULL
  GROUP BY w.lexical, w.lexical_margin
  UNION ALL
  SELECT 'cross' AS channel, 0.0 AS lexical, 0.0 AS lexical_margin,
    max(coalesce(s.nearness, s.vector_score - c.usual_cosine)) AS nearness
  FROM evidence_calibration AS c
  CROSS JOIN shares AS s
  WHERE c.channel = 'cross' AND NOT s.is_own AND s.vector_score IS NOT NULL
  GROUP BY c.channel
  UNION ALL
  SELECT 'lexical' AS channel, w.lexical, w.lexical_margin, NULL AS nearness
  FROM words AS w
  WHERE NOT EXISTS (SELECT 1 FROM shares AS s WHERE s.vector_score IS NOT NULL)
)
SELECT
  1 / (1 + exp(-(
    c.bias + c.lexical * f.lexical + c.lexical_margin * f.lexical_margin + c.nearness * coalesce(f.nearness, 0)
  ))) AS evidence,
  f.channel,
  c.version,
  f.lexical,
  f.lexical_margin,
  f.nearness
FROM features AS f
JOIN evidence_calibration AS c USING (channel)
ORDER BY evidence DESC, f.channel;
