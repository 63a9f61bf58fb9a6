-- List the tables with their columns, and the indexes, views and triggers with the statements that made them.
-- returns many SchemaObject
-- column type TEXT  table, index, view or trigger
-- column name TEXT  its name
-- column table_name TEXT  the table it belongs to
-- column definition TEXT?  columns of a table as JSON [name, type, not null, place in the key, hidden], else the statement; NULL for an index SQLite made
SELECT s.type, s.name, s.tbl_name AS table_name,
  iif(
    s.type = 'table' AND s.sql NOT LIKE 'CREATE VIRTUAL %',
    (
      SELECT json_group_array(json_array(c.name, c.type, c."notnull", c.pk, c.hidden))
      FROM pragma_table_xinfo(s.name) AS c
    ),
    s.sql
  ) AS definition
FROM sqlite_schema AS s
ORDER BY s.type, s.name;
