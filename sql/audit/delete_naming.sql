-- Forget the calls that gave something of the documents at some paths, or asked for them.
-- param paths_json TEXT  JSON array of paths below the workspace root
DELETE FROM disclosures
WHERE EXISTS (
  SELECT 1
  FROM json_each(:paths_json) AS path
  WHERE instr(disclosures.asked, path.value) OR instr(disclosures.places_json, path.value)
);
