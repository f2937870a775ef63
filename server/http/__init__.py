"""The JSON API, one file a noun."""
