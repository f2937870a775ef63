"""All SQL. One file a noun; nobody above sees a row."""
