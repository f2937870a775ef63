-- Where in a task a person was last, on whichever of their devices. place: JSON of the page's own, which holds no words.
CREATE TABLE places (
  user TEXT NOT NULL REFERENCES users ON DELETE CASCADE,
  task TEXT NOT NULL REFERENCES tasks ON DELETE CASCADE,
  device TEXT REFERENCES devices ON DELETE SET NULL,
  place TEXT NOT NULL CHECK (length(place) <= 1024),
  at REAL NOT NULL,
  PRIMARY KEY (user, task)
) STRICT, WITHOUT ROWID;
CREATE INDEX places_by_task ON places (task);
CREATE INDEX places_by_device ON places (device) WHERE device IS NOT NULL;
