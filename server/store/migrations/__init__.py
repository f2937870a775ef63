"""The schema of ``clew.db``, as numbered scripts. A released script is never changed; the next one amends it."""
