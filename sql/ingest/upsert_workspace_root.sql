-- Note which workspace the documents are indexed from.
-- version 1
-- param root TEXT  absolute path
INSERT INTO kv (key, value) VALUES ('workspace_root', :root)
ON CONFLICT (key) DO UPDATE SET value = excluded.value;
