-- The audit trail's chain covers digests of who is named, so that a person can be taken out of it and it still holds.

ALTER TABLE audit ADD COLUMN salt_by BLOB;        -- NULL once it was cut
ALTER TABLE audit ADD COLUMN salt_subjects BLOB;
ALTER TABLE audit ADD COLUMN digest_by BLOB;      -- NULL in events of before there were digests
ALTER TABLE audit ADD COLUMN digest_subjects BLOB;
ALTER TABLE audit ADD COLUMN cut INTEGER NOT NULL DEFAULT 0;
CREATE INDEX audit_by_time ON audit (at);

-- Where the chain begins and ends. seal: an HMAC by a key that is in no backup, so that cutting the tail off shows.
CREATE TABLE audit_ends (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  first INTEGER NOT NULL,
  base BLOB NOT NULL,   -- the hash before the first
  last INTEGER NOT NULL,
  head BLOB NOT NULL,   -- the hash of the last
  seal BLOB NOT NULL
) STRICT;

-- A task to which agents have no way: nothing is offered to them, and what they had has ended.
ALTER TABLE tasks ADD COLUMN agents TEXT NOT NULL DEFAULT 'allowed' CHECK (agents IN ('allowed', 'stopped'));

-- One-time addresses of what somebody takes along of themselves.
CREATE TABLE export_tickets (
  hash BLOB PRIMARY KEY,
  user TEXT NOT NULL REFERENCES users ON DELETE CASCADE,
  device TEXT REFERENCES devices ON DELETE CASCADE,
  expires_at REAL NOT NULL,
  used_at REAL
) STRICT, WITHOUT ROWID;
CREATE INDEX export_tickets_by_user ON export_tickets (user);
CREATE INDEX export_tickets_by_device ON export_tickets (device) WHERE device IS NOT NULL;
