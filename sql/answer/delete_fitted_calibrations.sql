-- Judge evidence as shipped again, in every channel.
-- version 1
DELETE FROM evidence_calibrations
WHERE origin = 'fitted';
