-- Keep words the count of documents that have each word of document_words.
CREATE TRIGGER document_words_ai AFTER INSERT ON document_words BEGIN
  INSERT INTO words (letters, documents)
  SELECT word.value, 1 FROM json_each(new.words_json) AS word WHERE true
  ON CONFLICT (letters) DO UPDATE SET documents = documents + 1;
END;
CREATE TRIGGER document_words_ad AFTER DELETE ON document_words BEGIN
  UPDATE words SET documents = documents - 1 WHERE letters IN (SELECT value FROM json_each(old.words_json));
  DELETE FROM words WHERE documents <= 0 AND letters IN (SELECT value FROM json_each(old.words_json));
END;
