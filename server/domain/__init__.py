"""Pure nouns and rules of the authority. No I/O here, ever."""
