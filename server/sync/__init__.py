"""The WebSocket door: sockets become connections in rooms."""
