-- Forget all but the last disclosures.
-- version 1
-- param kept INTEGER  so many stay
DELETE FROM disclosures
WHERE disclosure_id <= (SELECT max(disclosure_id) FROM disclosures) - :kept;
