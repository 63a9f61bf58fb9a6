-- Forget all but the last disclosures.
-- returns changes
-- param kept INTEGER  so many stay
DELETE FROM disclosures
WHERE disclosure_id <= (SELECT max(disclosure_id) FROM disclosures) - :kept;
