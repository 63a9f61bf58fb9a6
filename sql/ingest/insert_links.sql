-- Store one link of a note.
-- batch NewLink
-- param doc_id TEXT  the note
-- param position INTEGER  from 0, in the order of the text
-- param line INTEGER  from 1
-- param kind TEXT  wikilink, embed, markdown or citation
-- param target TEXT  as written, decoded, without the anchor
-- param anchor TEXT?  what is behind the #
-- param name TEXT  the last part of the target, case-folded, NFC
-- param path TEXT  all of it
-- param beside TEXT  the path it names from the note's folder
-- param source TEXT?  what is before a colon in it, where that may be the name of a source
INSERT INTO links (doc_id, position, line, kind, target, anchor, name, path, beside, source)
VALUES (:doc_id, :position, :line, :kind, :target, :anchor, :name, :path, :beside, :source);
