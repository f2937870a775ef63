-- How devices prove that they are themselves: a key of their own, a session that their browser binds to the machine.

-- A thumbprint is one device's, and so one person's; a revoked device loses its row.
CREATE TABLE device_keys (
  device TEXT PRIMARY KEY REFERENCES devices ON DELETE CASCADE,
  thumbprint TEXT NOT NULL UNIQUE,  -- RFC 7638, of the public key
  since REAL NOT NULL
) STRICT, WITHOUT ROWID;

-- Device Bound Session Credentials, apart from the login whose they are: what one request writes, another can't undo.
-- earlier_*: what came before, for whoever was under way with it.
CREATE TABLE bound_sessions (
  id TEXT PRIMARY KEY,
  login TEXT NOT NULL UNIQUE REFERENCES logins ON DELETE CASCADE,
  key TEXT NOT NULL,                 -- the public key as a JWK
  cookie BLOB NOT NULL,
  cookie_until REAL NOT NULL,
  earlier_cookie BLOB,
  earlier_until REAL,
  challenge BLOB,                    -- NULL: it was answered, and the next one is not out yet
  earlier_challenge BLOB,
  created_at REAL NOT NULL,
  skipped_at REAL                    -- since when the browser says that it can't refresh
) STRICT, WITHOUT ROWID;

-- What a ticket was got with: the device's level, the network's family, and until when whoever had to step down may read.
ALTER TABLE tickets ADD COLUMN level INTEGER NOT NULL DEFAULT 0 CHECK (level BETWEEN 0 AND 2);
ALTER TABLE tickets ADD COLUMN family INTEGER;
ALTER TABLE tickets ADD COLUMN reads_until REAL;
