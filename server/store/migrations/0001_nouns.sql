-- The nouns of the first version. Times are Unix seconds; ids are UUIDs as text; secrets stand here as SHA-256 only.

CREATE TABLE users (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  name_key TEXT NOT NULL UNIQUE,  -- the name as it is compared: NFKC, case folded
  created_at REAL NOT NULL
) STRICT;

CREATE TABLE devices (
  id TEXT PRIMARY KEY,
  user TEXT NOT NULL REFERENCES users ON DELETE CASCADE,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  created_at REAL NOT NULL,
  seen_at REAL NOT NULL,
  revoked_at REAL
) STRICT;
CREATE INDEX devices_by_user ON devices (user);

-- created_by is a name for who made it, not a right: the row outlives its maker.
CREATE TABLE tasks (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('open', 'paused', 'done', 'archived')),
  created_by TEXT NOT NULL,
  created_at REAL NOT NULL,
  updated_at REAL NOT NULL
) STRICT;

CREATE TABLE members (
  task TEXT NOT NULL REFERENCES tasks ON DELETE CASCADE,
  user TEXT NOT NULL REFERENCES users ON DELETE CASCADE,
  role INTEGER NOT NULL CHECK (role BETWEEN 1 AND 4),
  since REAL NOT NULL,
  PRIMARY KEY (task, user)
) STRICT, WITHOUT ROWID;
CREATE INDEX members_by_user ON members (user);

CREATE TABLE sessions (
  id TEXT PRIMARY KEY,
  user TEXT NOT NULL REFERENCES users ON DELETE CASCADE,
  device TEXT REFERENCES devices ON DELETE SET NULL,
  framework TEXT,
  task TEXT REFERENCES tasks ON DELETE SET NULL,
  started_at REAL NOT NULL,
  seen_at REAL NOT NULL,
  ended_at REAL
) STRICT;
CREATE INDEX sessions_by_user ON sessions (user, started_at);
CREATE INDEX sessions_by_task ON sessions (task) WHERE task IS NOT NULL;
CREATE INDEX sessions_by_device ON sessions (device) WHERE device IS NOT NULL;

CREATE TABLE attachments (
  id TEXT PRIMARY KEY,
  session TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
  task TEXT NOT NULL REFERENCES tasks ON DELETE CASCADE,
  started_at REAL NOT NULL,
  ended_at REAL
) STRICT;
CREATE INDEX attachments_by_task ON attachments (task);
CREATE INDEX attachments_by_session ON attachments (session);
CREATE UNIQUE INDEX attachments_one_at_a_time ON attachments (session) WHERE ended_at IS NULL;

CREATE TABLE tokens (
  id TEXT PRIMARY KEY,
  hash BLOB NOT NULL UNIQUE,
  user TEXT NOT NULL REFERENCES users ON DELETE CASCADE,
  device TEXT REFERENCES devices ON DELETE CASCADE,
  task TEXT REFERENCES tasks ON DELETE CASCADE,
  role INTEGER NOT NULL CHECK (role BETWEEN 1 AND 4),
  created_at REAL NOT NULL,
  expires_at REAL NOT NULL,
  revoked_at REAL
) STRICT;
CREATE INDEX tokens_by_user ON tokens (user);
CREATE INDEX tokens_by_device ON tokens (device) WHERE device IS NOT NULL;
CREATE INDEX tokens_by_task ON tokens (task) WHERE task IS NOT NULL;

CREATE TABLE logins (
  id TEXT PRIMARY KEY,
  hash BLOB NOT NULL UNIQUE,
  user TEXT NOT NULL REFERENCES users ON DELETE CASCADE,
  device TEXT NOT NULL REFERENCES devices ON DELETE CASCADE,
  created_at REAL NOT NULL,
  expires_at REAL NOT NULL
) STRICT;
CREATE INDEX logins_by_user ON logins (user);
CREATE INDEX logins_by_device ON logins (device);
CREATE INDEX logins_by_expiry ON logins (expires_at);

CREATE TABLE links (
  hash BLOB PRIMARY KEY,
  user TEXT NOT NULL REFERENCES users ON DELETE CASCADE,
  created_at REAL NOT NULL,
  expires_at REAL NOT NULL,
  used_at REAL
) STRICT, WITHOUT ROWID;
CREATE INDEX links_by_user ON links (user);
CREATE INDEX links_by_expiry ON links (expires_at);

CREATE TABLE tickets (
  hash BLOB PRIMARY KEY,
  user TEXT NOT NULL REFERENCES users ON DELETE CASCADE,
  device TEXT REFERENCES devices ON DELETE CASCADE,
  session TEXT REFERENCES sessions ON DELETE CASCADE,
  token TEXT REFERENCES tokens ON DELETE CASCADE,
  task TEXT NOT NULL REFERENCES tasks ON DELETE CASCADE,
  expires_at REAL NOT NULL,
  used_at REAL
) STRICT, WITHOUT ROWID;
CREATE INDEX tickets_by_user ON tickets (user);
CREATE INDEX tickets_by_device ON tickets (device) WHERE device IS NOT NULL;
CREATE INDEX tickets_by_session ON tickets (session) WHERE session IS NOT NULL;
CREATE INDEX tickets_by_token ON tickets (token) WHERE token IS NOT NULL;
CREATE INDEX tickets_by_task ON tickets (task);
CREATE INDEX tickets_by_expiry ON tickets (expires_at);

-- No foreign keys: what was done stays known after the things it was done to are gone.
CREATE TABLE audit (
  id INTEGER PRIMARY KEY,
  at REAL NOT NULL,
  event TEXT NOT NULL,
  user TEXT,
  agent TEXT,
  device TEXT,
  session TEXT,
  token TEXT,
  task TEXT,
  subjects TEXT NOT NULL,  -- a JSON list of ids
  hash BLOB NOT NULL       -- SHA-256 over the hash before and this row
) STRICT;
CREATE INDEX audit_by_task ON audit (task) WHERE task IS NOT NULL;
