-- Agents, and the turns in which they answer what people said. Times are Unix seconds.

-- user: whose agent it is; NULL for the server's own. The id owns client ids for ever, whatever bearer it came by.
CREATE TABLE agents (
  id TEXT PRIMARY KEY,
  user TEXT REFERENCES users ON DELETE CASCADE,
  name TEXT NOT NULL,
  name_key TEXT NOT NULL,  -- the name as it is compared: NFKC, case folded
  created_at REAL NOT NULL
) STRICT;
CREATE UNIQUE INDEX agents_by_name ON agents (coalesce(user, ''), name_key);
CREATE INDEX agents_by_user ON agents (user) WHERE user IS NOT NULL;

-- A host bearer may read offers and lease turns; a grant is what an agent acts with, for one user on one task.
ALTER TABLE tokens ADD COLUMN kind TEXT NOT NULL DEFAULT 'user' CHECK (kind IN ('user', 'host', 'grant'));
ALTER TABLE tokens ADD COLUMN agent TEXT REFERENCES agents ON DELETE CASCADE;
CREATE INDEX tokens_by_agent ON tokens (agent) WHERE agent IS NOT NULL;
CREATE INDEX grants_by_expiry ON tokens (expires_at) WHERE kind = 'grant';

-- Who gave the task its name. heard: up to which seq of its document new messages were looked for; NULL: never yet.
ALTER TABLE tasks ADD COLUMN named_by TEXT NOT NULL DEFAULT 'none' CHECK (named_by IN ('none', 'agent', 'user'));
ALTER TABLE tasks ADD COLUMN heard INTEGER;
UPDATE tasks SET named_by = 'user' WHERE name <> 'Untitled task';

-- user: who wrote the first of its messages. host: the bearer that leased it last, which may be nobody's row.
CREATE TABLE turns (
  id TEXT PRIMARY KEY,
  task TEXT NOT NULL REFERENCES tasks ON DELETE CASCADE,
  user TEXT NOT NULL REFERENCES users ON DELETE CASCADE,
  answer TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('queued', 'running', 'done', 'stopped', 'failed', 'expired')),
  attempt INTEGER NOT NULL CHECK (attempt >= 1),
  created_at REAL NOT NULL,
  queued_at REAL NOT NULL,
  agent TEXT REFERENCES agents ON DELETE SET NULL,
  host TEXT,
  given TEXT,              -- the grant of its last attempt
  lease_until REAL,
  why TEXT,
  started_at REAL,
  ended_at REAL
) STRICT;
CREATE INDEX turns_by_task ON turns (task, created_at);
CREATE INDEX turns_by_user ON turns (user);
CREATE INDEX turns_by_agent ON turns (agent) WHERE agent IS NOT NULL;
CREATE INDEX turns_by_host ON turns (host) WHERE host IS NOT NULL;
CREATE UNIQUE INDEX turns_one_running ON turns (task) WHERE status = 'running';
CREATE UNIQUE INDEX turns_one_queued ON turns (task) WHERE status = 'queued';
CREATE INDEX turns_under_way ON turns (status) WHERE status IN ('queued', 'running');

CREATE TABLE turn_messages (
  id INTEGER PRIMARY KEY,  -- the order in which they were committed
  turn TEXT NOT NULL REFERENCES turns ON DELETE CASCADE,
  task TEXT NOT NULL REFERENCES tasks ON DELETE CASCADE,
  message TEXT NOT NULL,
  user TEXT NOT NULL REFERENCES users ON DELETE CASCADE,
  UNIQUE (task, message)
) STRICT;
CREATE INDEX turn_messages_by_turn ON turn_messages (turn);
CREATE INDEX turn_messages_by_user ON turn_messages (user);
