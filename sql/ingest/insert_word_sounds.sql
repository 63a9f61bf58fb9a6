-- Store how words sound.
-- param sounds_json TEXT  JSON array of [word, Korean ones in single jamo; its consonants]
INSERT OR IGNORE INTO word_sounds (letters, sound)
SELECT value ->> 0, value ->> 1 FROM json_each(:sounds_json);
