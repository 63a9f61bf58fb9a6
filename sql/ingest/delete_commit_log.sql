-- Forget that the history of a checkout was read.
-- param path TEXT  the checkout's folder on this machine
DELETE FROM commit_logs WHERE path = :path;
