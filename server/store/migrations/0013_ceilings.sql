-- What an owner last gave somebody on a task by name: a link that was made before it gives them no more. role 0: nothing,
-- they were taken off. Times are Unix seconds.
CREATE TABLE ceilings (
  task TEXT NOT NULL REFERENCES tasks ON DELETE CASCADE,
  user TEXT NOT NULL REFERENCES users ON DELETE CASCADE,
  role INTEGER NOT NULL CHECK (role BETWEEN 0 AND 4),
  until REAL,
  at REAL NOT NULL,
  PRIMARY KEY (task, user)
) STRICT, WITHOUT ROWID;
CREATE INDEX ceilings_by_user ON ceilings (user);
