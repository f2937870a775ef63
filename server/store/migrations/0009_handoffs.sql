-- Handing a task to a new device. Times are Unix seconds; secrets stand here as SHA-256 only.

-- A login that came by a handoff is for one task, as this role at most, until somebody keeps the device.
ALTER TABLE logins ADD COLUMN task TEXT REFERENCES tasks ON DELETE CASCADE;
ALTER TABLE logins ADD COLUMN role INTEGER CHECK (role BETWEEN 1 AND 3);
CREATE INDEX logins_by_task ON logins (task) WHERE task IS NOT NULL;
ALTER TABLE tickets ADD COLUMN login TEXT REFERENCES logins ON DELETE CASCADE;
CREATE INDEX tickets_by_login ON tickets (login) WHERE login IS NOT NULL;

-- device, login, session: who offers, and who alone may answer. hash: of the QR code's secret or of the typed code.
-- From claimed_at on: what the new device showed of itself. made: the device that came of it.
CREATE TABLE handoffs (
  id TEXT PRIMARY KEY,
  hash BLOB NOT NULL UNIQUE,
  how TEXT NOT NULL CHECK (how IN ('qr', 'code')),
  user TEXT NOT NULL REFERENCES users ON DELETE CASCADE,
  task TEXT NOT NULL REFERENCES tasks ON DELETE CASCADE,
  device TEXT NOT NULL REFERENCES devices ON DELETE CASCADE,
  login TEXT NOT NULL,
  session TEXT,
  place TEXT,              -- the address it was offered from, of IPv6 the network
  role INTEGER NOT NULL CHECK (role BETWEEN 1 AND 3),
  ttl REAL NOT NULL,       -- seconds that the new device stays
  state TEXT NOT NULL CHECK (state IN ('offered', 'claimed', 'approved', 'collected', 'ended')),
  why TEXT,                -- how it ended
  misses INTEGER NOT NULL DEFAULT 0,
  created_at REAL NOT NULL,
  expires_at REAL NOT NULL,
  claim BLOB,
  thumbprint TEXT,
  claimed_by TEXT,         -- what to call it
  kind TEXT,
  near INTEGER,            -- whether it came from the same network; NULL where nobody can tell
  number INTEGER,
  numbers TEXT,            -- a JSON list: that one and two others
  made TEXT REFERENCES devices ON DELETE SET NULL
) STRICT;
CREATE INDEX handoffs_by_user ON handoffs (user, created_at);
CREATE INDEX handoffs_by_task ON handoffs (task);
CREATE INDEX handoffs_by_device ON handoffs (device);
CREATE INDEX handoffs_by_made ON handoffs (made) WHERE made IS NOT NULL;
CREATE INDEX handoffs_by_age ON handoffs (created_at);
CREATE UNIQUE INDEX handoffs_one_pending ON handoffs (user, task) WHERE state IN ('offered', 'claimed', 'approved');

-- Who wants to be asked nothing for a while.
CREATE TABLE handoff_pauses (
  user TEXT PRIMARY KEY REFERENCES users ON DELETE CASCADE,
  until REAL NOT NULL
) STRICT, WITHOUT ROWID;

-- Cookies of devices that were revoked, for as long as they would have lived: whoever still has one is told why it is
-- good no more, and lets go of what it keeps.
CREATE TABLE revoked_logins (
  hash BLOB PRIMARY KEY,
  user TEXT NOT NULL REFERENCES users ON DELETE CASCADE,
  expires_at REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX revoked_logins_by_user ON revoked_logins (user);
CREATE INDEX revoked_logins_by_expiry ON revoked_logins (expires_at);
