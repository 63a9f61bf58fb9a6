-- The source that a link names, [[work:note]], and NULL where it names none. Where nothing is indexed of such a source, the
-- link is an address of that scheme. Path is then what follows the colon, and beside the whole target.
ALTER TABLE links ADD COLUMN source TEXT;
