-- Count the calls that gave something of the documents at some paths, or asked for them.
-- returns one CallCount
-- param paths_json TEXT  JSON array of paths below the workspace root
-- column calls INTEGER  calls
SELECT count(*) AS calls
FROM disclosures AS d
WHERE EXISTS (
  SELECT 1
  FROM json_each(:paths_json) AS path
  WHERE instr(d.asked, path.value) OR instr(d.places_json, path.value)
);
