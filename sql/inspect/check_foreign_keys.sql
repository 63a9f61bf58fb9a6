-- Find rows that refer to a row that is not there.
-- returns many DanglingRow
-- column table TEXT  the row's table
-- column rowid INTEGER?  the row; NULL in a table without row ids
-- column parent TEXT  the table it refers to
-- column fkid INTEGER  which of the table's references
PRAGMA foreign_key_check;
