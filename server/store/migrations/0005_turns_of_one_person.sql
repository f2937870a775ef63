-- A turn is one person's, and of a long backlog several wait. What an agent failed at is counted apart from what was lost.

DROP INDEX turns_one_queued;
CREATE INDEX turns_queued_by_person ON turns (task, user) WHERE status = 'queued';
ALTER TABLE turns ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;  -- attempts that an agent said failed
ALTER TABLE turns ADD COLUMN losses INTEGER NOT NULL DEFAULT 0;    -- attempts that ended with their host, or this server
ALTER TABLE turns ADD COLUMN due_at REAL NOT NULL DEFAULT 0;       -- not offered before
