-- Read how much the cache holds, from the file's own page counts.
-- returns one CacheSize
-- column bytes INTEGER  of the pages in use
SELECT (n.page_count - f.freelist_count) * s.page_size AS bytes
FROM pragma_page_count AS n, pragma_freelist_count AS f, pragma_page_size AS s;
