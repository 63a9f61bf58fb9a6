-- Note a file that was not read; nothing is written where it is known with the same words.
-- batch UnreadRow
-- param workspace_path TEXT  path below the workspace root
-- param source_path TEXT  absolute path on this machine; '' of what could not be looked at
-- param family TEXT?  the kind of file
-- param byte_len INTEGER  bytes
-- param mtime_ns INTEGER  modification time, nanoseconds; 0 = read it again
-- param reader TEXT  versions, engines and limits under which it was not read
-- param outcome TEXT  'failed'; 'left out' by a rule; 'waiting' for an engine
-- param code TEXT  of error.v1, or the rule
-- param message TEXT  why
-- param hint TEXT?  what to do
-- param since TEXT  RFC 3339 UTC
INSERT INTO unread_files (
  workspace_path, source_path, family, byte_len, mtime_ns, reader, outcome, code, message, hint, since
) VALUES (
  :workspace_path, :source_path, :family, :byte_len, :mtime_ns, :reader, :outcome, :code, :message, :hint, :since
)
ON CONFLICT (workspace_path) DO UPDATE SET
  source_path = excluded.source_path,
  family = excluded.family,
  since = iif((code, message) = (excluded.code, excluded.message), since, excluded.since),
  byte_len = excluded.byte_len,
  mtime_ns = excluded.mtime_ns,
  reader = excluded.reader,
  outcome = excluded.outcome,
  code = excluded.code,
  message = excluded.message,
  hint = excluded.hint
WHERE (source_path, byte_len, mtime_ns, reader, outcome, code, message, hint)
  IS NOT (
    excluded.source_path, excluded.byte_len, excluded.mtime_ns, excluded.reader, excluded.outcome, excluded.code,
    excluded.message, excluded.hint
  );
