-- Accounts, and the ways in beside links: passkeys, an organisation's identity provider, invitations, device grants.

CREATE TABLE accounts (
  user TEXT PRIMARY KEY REFERENCES users ON DELETE CASCADE,
  language TEXT,                    -- NULL: whatever the browser asks for
  plan TEXT NOT NULL,
  preferences TEXT NOT NULL         -- a JSON object of scalars
) STRICT, WITHOUT ROWID;

-- Whose server it is, whatever they are called; NULL once they were erased.
CREATE TABLE server_owner (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  user TEXT REFERENCES users ON DELETE SET NULL
) STRICT;
CREATE INDEX server_owner_by_user ON server_owner (user);
INSERT INTO server_owner (one, user) SELECT 1, id FROM users ORDER BY name_key = 'owner' DESC, created_at, rowid LIMIT 1;

-- When the person behind a login last showed that it is them (a passkey, a number match).
ALTER TABLE logins ADD COLUMN proven_at REAL;

CREATE TABLE passkeys (
  id TEXT PRIMARY KEY,
  credential BLOB NOT NULL UNIQUE,
  user TEXT NOT NULL REFERENCES users ON DELETE CASCADE,
  public_key BLOB NOT NULL,
  sign_count INTEGER NOT NULL,
  name TEXT NOT NULL,
  synced INTEGER NOT NULL CHECK (synced IN (0, 1)),
  created_at REAL NOT NULL,
  used_at REAL
) STRICT;
CREATE INDEX passkeys_by_user ON passkeys (user);

-- login: whose ceremony it is, if it is somebody's who is in already. Taken once; the challenge itself is nowhere.
CREATE TABLE challenges (
  hash BLOB PRIMARY KEY,
  purpose TEXT NOT NULL CHECK (purpose IN ('register', 'sign_in', 'prove')),
  login TEXT REFERENCES logins ON DELETE CASCADE,
  expires_at REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX challenges_by_expiry ON challenges (expires_at);
CREATE INDEX challenges_by_login ON challenges (login) WHERE login IS NOT NULL;

CREATE TABLE invitations (
  id TEXT PRIMARY KEY,
  hash BLOB NOT NULL UNIQUE,
  made_by TEXT NOT NULL REFERENCES users ON DELETE CASCADE,
  created_at REAL NOT NULL,
  expires_at REAL NOT NULL,
  used_at REAL
) STRICT;
CREATE INDEX invitations_by_user ON invitations (made_by);

-- Who somebody is elsewhere: by issuer and subject, never by a name or an e-mail address.
CREATE TABLE identities (
  issuer TEXT NOT NULL,
  subject TEXT NOT NULL,
  user TEXT NOT NULL REFERENCES users ON DELETE CASCADE,
  created_at REAL NOT NULL,
  PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;
CREATE INDEX identities_by_user ON identities (user);

-- A sign-in that is under way at the provider. browser: the hash of a cookie, so that only who began it ends it.
CREATE TABLE oidc_flows (
  state BLOB PRIMARY KEY,
  browser BLOB NOT NULL,
  nonce TEXT NOT NULL,
  verifier TEXT NOT NULL,
  redirect TEXT NOT NULL,
  login TEXT REFERENCES logins ON DELETE CASCADE,  -- who wants this identity added, if anybody
  invitation BLOB,                                  -- the hash of the invitation that they came by
  key TEXT,                                         -- the thumbprint of the device's key, if it showed one
  expires_at REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX oidc_flows_by_expiry ON oidc_flows (expires_at);
CREATE INDEX oidc_flows_by_login ON oidc_flows (login) WHERE login IS NOT NULL;

-- Which logins a provider has opened, so that it can close them again.
CREATE TABLE oidc_logins (
  login TEXT PRIMARY KEY REFERENCES logins ON DELETE CASCADE,
  issuer TEXT NOT NULL,
  subject TEXT NOT NULL,
  sid TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX oidc_logins_by_subject ON oidc_logins (issuer, subject);

-- Logout tokens that were heard; each is good once.
CREATE TABLE oidc_logouts (
  jti BLOB PRIMARY KEY,
  expires_at REAL NOT NULL
) STRICT, WITHOUT ROWID;

-- RFC 8628. Bounds are what was asked for until somebody approves, then what they gave.
CREATE TABLE device_grants (
  id TEXT PRIMARY KEY,
  device_code BLOB NOT NULL UNIQUE,
  user_code BLOB NOT NULL UNIQUE,
  client TEXT NOT NULL,
  agent TEXT,                       -- the name of the agent whose host asks, if one does
  role INTEGER NOT NULL CHECK (role BETWEEN 1 AND 4),
  ttl INTEGER NOT NULL,
  task TEXT REFERENCES tasks ON DELETE CASCADE,
  status TEXT NOT NULL CHECK (status IN ('pending', 'approved', 'denied')),
  user TEXT REFERENCES users ON DELETE CASCADE,
  pause REAL NOT NULL,              -- seconds between polls, which only grow
  polled_at REAL,
  expires_at REAL NOT NULL
) STRICT;
CREATE INDEX device_grants_by_expiry ON device_grants (expires_at);
CREATE INDEX device_grants_by_user ON device_grants (user) WHERE user IS NOT NULL;
CREATE INDEX device_grants_by_task ON device_grants (task) WHERE task IS NOT NULL;
