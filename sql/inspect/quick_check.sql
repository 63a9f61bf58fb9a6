-- Check the file without comparing indexes with their tables: one row "ok", or one row a fault.
-- returns many QuickCheckRow
-- column quick_check TEXT  ok, or what is wrong
PRAGMA quick_check(10);
