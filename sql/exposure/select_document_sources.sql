-- List the sources that documents are of, whether they are hidden or not.
-- returns many DocumentSource
-- column source TEXT  its name
SELECT DISTINCT source FROM main.documents ORDER BY source;
