-- What evidence is judged by, a row a channel: fitted on the owner's own questions, else as shipped.
-- version 1
CREATE VIEW evidence_calibration AS
SELECT c.channel, c.origin, c.version, c.bias, c.lexical, c.lexical_margin, c.nearness, c.usual_cosine, c.fitted_on,
  c.questions, c.updated_at
FROM evidence_calibrations AS c
WHERE c.origin = 'fitted'
  OR NOT EXISTS (SELECT 1 FROM evidence_calibrations AS f WHERE f.channel = c.channel AND f.origin = 'fitted');
