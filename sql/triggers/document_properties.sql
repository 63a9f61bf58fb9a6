-- Keep document_properties the rows of property_values.
CREATE TRIGGER document_properties_ai AFTER INSERT ON documents BEGIN
  INSERT OR IGNORE INTO document_properties (doc_id, name, position, kind, value, number)
  SELECT doc_id, name, position, kind, value, number FROM property_values WHERE doc_id = new.doc_id;
END;
CREATE TRIGGER document_properties_au AFTER UPDATE OF mtime_ns ON documents WHEN old.mtime_ns <> new.mtime_ns BEGIN
  DELETE FROM document_properties WHERE doc_id = new.doc_id AND name IN ('date', 'modified');
  INSERT OR IGNORE INTO document_properties (doc_id, name, position, kind, value, number)
  SELECT doc_id, name, position, kind, value, number FROM property_values WHERE doc_id = new.doc_id;
END;
CREATE TRIGGER document_commit_properties_au AFTER UPDATE OF committed_at, committed_by ON documents BEGIN
  DELETE FROM document_properties WHERE doc_id = new.doc_id AND name IN ('committed', 'committed_by');
  INSERT OR IGNORE INTO document_properties (doc_id, name, position, kind, value, number)
  SELECT doc_id, name, position, kind, value, number FROM property_values WHERE doc_id = new.doc_id;
END;
CREATE TRIGGER document_tag_properties_ai AFTER INSERT ON document_tags BEGIN
  INSERT OR IGNORE INTO document_properties (doc_id, name, position, kind, value, number)
  SELECT doc_id, name, position, kind, value, number
  FROM property_values
  WHERE doc_id = new.doc_id AND name = 'tags';
END;
