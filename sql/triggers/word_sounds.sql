-- Forget how a word sounds when the last document that has it goes.
CREATE TRIGGER words_ad AFTER DELETE ON words BEGIN
  DELETE FROM word_sounds WHERE letters = old.letters;
END;
