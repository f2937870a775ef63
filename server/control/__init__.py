"""The operator's door into a running server."""
