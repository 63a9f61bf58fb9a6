-- Read what evidence is judged by: every channel's row in force.
-- version 1
-- column channel TEXT  own, cross or lexical
-- column origin TEXT  shipped or fitted
-- column version TEXT  of the row
-- column bias REAL  of the logistic model
-- column lexical REAL  weight
-- column lexical_margin REAL  weight
-- column nearness REAL  weight
-- column usual_cosine REAL  stands for the nearness of a language with too few passages to have a mean
-- column fitted_on TEXT  the questions it was fitted on
-- column questions INTEGER  how many
-- column updated_at TEXT  RFC 3339 UTC
SELECT channel, origin, version, bias, lexical, lexical_margin, nearness, usual_cosine, fitted_on, questions, updated_at
FROM evidence_calibration
ORDER BY channel;
