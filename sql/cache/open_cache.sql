-- Make a cache ready to be written: losing it costs time, never data.
PRAGMA auto_vacuum = INCREMENTAL; -- before anything is written, or it takes no effect
PRAGMA journal_mode = WAL;
PRAGMA synchronous = OFF;
