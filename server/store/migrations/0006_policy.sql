-- What a task asks of whoever opens it, share links, and memberships with an end. Times are Unix seconds.

-- A task without a row asks nothing.
CREATE TABLE policies (
  task TEXT PRIMARY KEY REFERENCES tasks ON DELETE CASCADE,
  resume TEXT NOT NULL CHECK (resume IN ('owner', 'members')),
  device TEXT NOT NULL CHECK (device IN ('any', 'registered', 'bound')),
  confirm TEXT NOT NULL CHECK (confirm IN ('none', 'number-match', 'passkey')),
  changed_at REAL NOT NULL
) STRICT, WITHOUT ROWID;

-- hash: of the secret in the link's fragment. sign_in: not for guests. keyed: for devices with a key of their own.
CREATE TABLE shares (
  id TEXT PRIMARY KEY,
  hash BLOB NOT NULL UNIQUE,
  task TEXT NOT NULL REFERENCES tasks ON DELETE CASCADE,
  role INTEGER NOT NULL CHECK (role BETWEEN 1 AND 3),
  created_by TEXT REFERENCES users ON DELETE SET NULL,
  created_at REAL NOT NULL,
  expires_at REAL NOT NULL,
  uses INTEGER NOT NULL DEFAULT 0,
  most_uses INTEGER NOT NULL CHECK (most_uses >= 1),
  sign_in INTEGER NOT NULL CHECK (sign_in IN (0, 1)),
  keyed INTEGER NOT NULL CHECK (keyed IN (0, 1)),
  used_at REAL,
  revoked_at REAL
) STRICT;
CREATE INDEX shares_by_task ON shares (task, created_at);
CREATE INDEX shares_by_user ON shares (created_by) WHERE created_by IS NOT NULL;

-- until: when it ends. share: the link that they came by, with which they go again.
ALTER TABLE members ADD COLUMN until REAL;
ALTER TABLE members ADD COLUMN share TEXT REFERENCES shares ON DELETE CASCADE;
CREATE INDEX members_by_share ON members (share) WHERE share IS NOT NULL;

-- guest: whom the server made and named for a share link.
ALTER TABLE users ADD COLUMN guest INTEGER NOT NULL DEFAULT 0 CHECK (guest IN (0, 1));

-- proven_by: how the person last showed that it is them, beside proven_at.
ALTER TABLE logins ADD COLUMN proven_by TEXT CHECK (proven_by IN ('number-match', 'passkey'));

-- token: the bearer that began it, which may be told to end what it began.
ALTER TABLE sessions ADD COLUMN token TEXT REFERENCES tokens ON DELETE SET NULL;
CREATE INDEX sessions_by_token ON sessions (token) WHERE token IS NOT NULL;
