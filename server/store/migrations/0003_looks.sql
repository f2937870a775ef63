-- What each person had seen of a task: the state vector of its main document, and the seq of the log that it is.
-- seq only grows, so that of two devices the one that saw more counts.
CREATE TABLE looks (
  user TEXT NOT NULL REFERENCES users ON DELETE CASCADE,
  task TEXT NOT NULL REFERENCES tasks ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  state_vector BLOB NOT NULL,
  at REAL NOT NULL,
  PRIMARY KEY (user, task)
) STRICT, WITHOUT ROWID;
CREATE INDEX looks_by_task ON looks (task);
