-- What was handed to a bearer without a device: a script's look, and not that of the person whose bearer it is.
CREATE TABLE bearer_looks (
  token TEXT NOT NULL REFERENCES tokens ON DELETE CASCADE,
  task TEXT NOT NULL REFERENCES tasks ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  state_vector BLOB NOT NULL,
  at REAL NOT NULL,
  PRIMARY KEY (token, task)
) STRICT, WITHOUT ROWID;
CREATE INDEX bearer_looks_by_task ON bearer_looks (task);
