-- Check every page of the file, and every index against its table: one row "ok", or one row a fault.
-- returns many IntegrityRow
-- column integrity_check TEXT  ok, or what is wrong
PRAGMA integrity_check(10);
