-- Judge a channel's evidence by what was fitted to the owner's own questions; the shipped row stays beside it.
-- version 1
-- param channel TEXT  own, cross or lexical
-- param version TEXT  of the row
-- param bias REAL  of the logistic model
-- param lexical REAL  weight
-- param lexical_margin REAL  weight
-- param nearness REAL  weight
-- param fitted_on TEXT  the questions it was fitted on
-- param questions INTEGER  how many
-- param updated_at TEXT  RFC 3339 UTC
INSERT INTO evidence_calibrations (
  channel, origin, version, bias, lexical, lexical_margin, nearness, usual_cosine, fitted_on, questions, updated_at
)
SELECT :channel, 'fitted', :version, :bias, :lexical, :lexical_margin, :nearness, s.usual_cosine, :fitted_on, :questions,
  :updated_at
FROM evidence_calibrations AS s
WHERE s.channel = :channel AND s.origin = 'shipped'
ON CONFLICT (channel, origin) DO UPDATE SET
  version = excluded.version, bias = excluded.bias, lexical = excluded.lexical, lexical_margin = excluded.lexical_margin,
  nearness = excluded.nearness, usual_cosine = excluded.usual_cosine, fitted_on = excluded.fitted_on,
  questions = excluded.questions, updated_at = excluded.updated_at;
