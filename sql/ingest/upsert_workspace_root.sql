-- Note which workspace the documents are indexed from.
-- param root TEXT  absolute path
INSERT INTO kv (key, value) VALUES ('workspace_root', :root)
ON CONFLICT (key) DO UPDATE SET value = excluded.value;
