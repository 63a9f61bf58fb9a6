-- What documents are called by links, and the links of notes. A link is resolved when it is asked for, so that a file that
-- comes, goes or moves changes no other document's rows.

-- name: of its file, with and without the extension of a note, or an alias; path: the whole path, or the alias. Both are
-- case-folded and in NFC, as name, path and beside of links.
CREATE TABLE document_names (
  doc_id TEXT NOT NULL REFERENCES documents (doc_id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  path TEXT NOT NULL,
  is_alias INTEGER NOT NULL CHECK (is_alias IN (0, 1)),
  PRIMARY KEY (doc_id, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_document_names_name ON document_names (name);

-- target: as written, decoded, without its anchor; anchor: what is behind the #, a heading, ^block or place. name: the last
-- part of the target; path: all of it; beside: the path from the linking note's folder.
CREATE TABLE links (
  doc_id TEXT NOT NULL REFERENCES documents (doc_id) ON DELETE CASCADE,
  position INTEGER NOT NULL CHECK (position >= 0),
  line INTEGER NOT NULL CHECK (line >= 1),
  kind TEXT NOT NULL CHECK (kind IN ('wikilink', 'embed', 'markdown', 'citation')),
  target TEXT NOT NULL,
  anchor TEXT,
  name TEXT NOT NULL,
  path TEXT NOT NULL,
  beside TEXT NOT NULL,
  PRIMARY KEY (doc_id, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_links_name ON links (name);
