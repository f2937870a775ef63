-- What a device makes that lets somebody in names it, and goes with it when it is revoked.
ALTER TABLE links ADD COLUMN device TEXT REFERENCES devices ON DELETE CASCADE;
CREATE INDEX links_by_device ON links (device) WHERE device IS NOT NULL;
ALTER TABLE device_grants ADD COLUMN device TEXT REFERENCES devices ON DELETE CASCADE;
CREATE INDEX device_grants_by_device ON device_grants (device) WHERE device IS NOT NULL;
ALTER TABLE invitations ADD COLUMN device TEXT REFERENCES devices ON DELETE CASCADE;
CREATE INDEX invitations_by_device ON invitations (device) WHERE device IS NOT NULL;

-- leaving: they are being erased, and whatever of theirs is under way makes nothing new.
ALTER TABLE users ADD COLUMN leaving INTEGER NOT NULL DEFAULT 0 CHECK (leaving IN (0, 1));
CREATE TRIGGER tasks_of_somebody BEFORE INSERT ON tasks
WHEN EXISTS (SELECT 1 FROM users WHERE id = NEW.created_by AND leaving = 1)
BEGIN SELECT RAISE(ABORT, 'who makes it is being erased'); END;
CREATE TRIGGER members_of_somebody BEFORE INSERT ON members
WHEN EXISTS (SELECT 1 FROM users WHERE id = NEW.user AND leaving = 1)
BEGIN SELECT RAISE(ABORT, 'who is named is being erased'); END;
CREATE TRIGGER devices_of_somebody BEFORE INSERT ON devices
WHEN EXISTS (SELECT 1 FROM users WHERE id = NEW.user AND leaving = 1)
BEGIN SELECT RAISE(ABORT, 'who is named is being erased'); END;
CREATE TRIGGER logins_of_somebody BEFORE INSERT ON logins
WHEN EXISTS (SELECT 1 FROM users WHERE id = NEW.user AND leaving = 1)
BEGIN SELECT RAISE(ABORT, 'who is named is being erased'); END;
CREATE TRIGGER tokens_of_somebody BEFORE INSERT ON tokens
WHEN EXISTS (SELECT 1 FROM users WHERE id = NEW.user AND leaving = 1)
BEGIN SELECT RAISE(ABORT, 'who is named is being erased'); END;
CREATE TRIGGER tickets_of_somebody BEFORE INSERT ON tickets
WHEN EXISTS (SELECT 1 FROM users WHERE id = NEW.user AND leaving = 1)
BEGIN SELECT RAISE(ABORT, 'who is named is being erased'); END;
CREATE TRIGGER links_of_somebody BEFORE INSERT ON links
WHEN EXISTS (SELECT 1 FROM users WHERE id = NEW.user AND leaving = 1)
BEGIN SELECT RAISE(ABORT, 'who is named is being erased'); END;

-- Tasks that were deleted since the last start: their documents, which are another file's, may still have to follow.
CREATE TABLE deleted_tasks (task TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TRIGGER tasks_deleted AFTER DELETE ON tasks
BEGIN INSERT OR IGNORE INTO deleted_tasks (task) VALUES (OLD.id); END;

-- An owner's place hangs on no link.
UPDATE members SET share = NULL WHERE role = 4;
