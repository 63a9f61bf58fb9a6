-- Source code: what it defines, where that is used, and an index of its own, so that notes rank as if it were not there.

-- What a chunk of source code is searched by beside its text; NULL for every other chunk. symbol_text: the names it
-- defines, whole and in words; doc_text: what documents them; identifier_text: the words inside the names it uses.
ALTER TABLE chunks ADD COLUMN symbol_text TEXT;
ALTER TABLE chunks ADD COLUMN doc_text TEXT;
ALTER TABLE chunks ADD COLUMN identifier_text TEXT;

-- One row a definition. Lines count from 1, both included; line_start is that of its comment and decorators, defined_at
-- that of the definition itself. folded_name is the same for every way of writing a name: parsehttprequest.
CREATE TABLE symbols (
  doc_id TEXT NOT NULL REFERENCES documents (doc_id) ON DELETE CASCADE,
  position INTEGER NOT NULL CHECK (position >= 0),
  path TEXT NOT NULL,
  name TEXT NOT NULL,
  folded_name TEXT NOT NULL,
  qualified_name TEXT NOT NULL,
  kind TEXT NOT NULL,
  language TEXT NOT NULL,
  parent TEXT,
  signature TEXT NOT NULL,
  doc TEXT,
  line_start INTEGER NOT NULL CHECK (line_start >= 1),
  defined_at INTEGER NOT NULL CHECK (defined_at >= line_start),
  line_end INTEGER NOT NULL CHECK (line_end >= defined_at),
  visibility TEXT NOT NULL CHECK (visibility IN ('public', 'private')),
  PRIMARY KEY (doc_id, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_symbols_name ON symbols (name COLLATE NOCASE);
CREATE INDEX idx_symbols_folded_name ON symbols (folded_name);

-- One row a line on which a name is called or constructed; from_symbol is the definition around it, NULL outside of any.
CREATE TABLE symbol_refs (
  doc_id TEXT NOT NULL REFERENCES documents (doc_id) ON DELETE CASCADE,
  line INTEGER NOT NULL CHECK (line >= 1),
  name TEXT NOT NULL,
  from_symbol TEXT,
  PRIMARY KEY (doc_id, line, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_symbol_refs_name ON symbol_refs (name);

CREATE VIRTUAL TABLE code_fts USING fts5 (
  symbol,
  path,
  doc,
  text,
  identifiers,
  tokenized_korean_text,
  tokenize = 'porter unicode61 remove_diacritics 2'
);
-- What `rank` means: a word of a name that is defined counts four times one of the text, one that documents it six times.
INSERT INTO code_fts (code_fts, rank) VALUES ('rank', 'bm25(4.0, 1.0, 6.0, 1.0, 1.0, 1.0)');
CREATE VIRTUAL TABLE code_vocab USING fts5vocab (code_fts, 'row');
INSERT INTO kv (key, value) VALUES ('code_total', 0);
