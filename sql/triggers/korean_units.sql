-- Keep korean_units the sum of document_korean_units, and korean_unit_total the sum of korean_units.
CREATE TRIGGER document_korean_units_ai AFTER INSERT ON document_korean_units BEGIN
  INSERT INTO korean_units (surface, morphemes, occurrences)
  SELECT unit.value ->> 0, unit.value ->> 1, unit.value ->> 2 FROM json_each(new.units_json) AS unit WHERE true
  ON CONFLICT (surface, morphemes) DO UPDATE SET occurrences = occurrences + excluded.occurrences;
  UPDATE kv
  SET value = value + (SELECT coalesce(sum(unit.value ->> 2), 0) FROM json_each(new.units_json) AS unit)
  WHERE key = 'korean_unit_total';
END;
CREATE TRIGGER document_korean_units_ad AFTER DELETE ON document_korean_units BEGIN
  UPDATE korean_units
  SET occurrences = korean_units.occurrences - unit.occurrences
  FROM (
    SELECT value ->> 0 AS surface, value ->> 1 AS morphemes, value ->> 2 AS occurrences
    FROM json_each(old.units_json)
  ) AS unit
  WHERE korean_units.surface = unit.surface AND korean_units.morphemes = unit.morphemes;
  DELETE FROM korean_units
  WHERE occurrences <= 0 AND surface IN (SELECT value ->> 0 FROM json_each(old.units_json));
  UPDATE kv
  SET value = value - (SELECT coalesce(sum(unit.value ->> 2), 0) FROM json_each(old.units_json) AS unit)
  WHERE key = 'korean_unit_total';
END;
