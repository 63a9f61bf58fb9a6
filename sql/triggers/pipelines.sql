-- Keep pipelines the count of documents a pipeline version: it says what the index was made with.
CREATE TRIGGER pipelines_ai AFTER INSERT ON documents BEGIN
  INSERT INTO pipelines (pipeline_version, documents) VALUES (new.pipeline_version, 1)
  ON CONFLICT (pipeline_version) DO UPDATE SET documents = documents + 1;
END;
CREATE TRIGGER pipelines_ad AFTER DELETE ON documents BEGIN
  UPDATE pipelines SET documents = documents - 1 WHERE pipeline_version = old.pipeline_version;
  DELETE FROM pipelines WHERE pipeline_version = old.pipeline_version AND documents <= 0;
END;
CREATE TRIGGER pipelines_au AFTER UPDATE OF pipeline_version ON documents BEGIN
  UPDATE pipelines SET documents = documents - 1 WHERE pipeline_version = old.pipeline_version;
  DELETE FROM pipelines WHERE pipeline_version = old.pipeline_version AND documents <= 0;
  INSERT INTO pipelines (pipeline_version, documents) VALUES (new.pipeline_version, 1)
  ON CONFLICT (pipeline_version) DO UPDATE SET documents = documents + 1;
END;
