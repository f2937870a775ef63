"""pycrdt-websocket with a store for each room: ``python pycrdt_server.py PORT DATABASE``. Runs in the peers' venv."""

from __future__ import annotations

import asyncio
import sys

import uvicorn
from pycrdt.store import SQLiteYStore
from pycrdt.websocket import ASGIServer, WebsocketServer, YRoom, exception_logger


class Store(SQLiteYStore):
    """The store as it comes, but for where it lies."""

    db_path = sys.argv[2]


class Rooms(WebsocketServer):
    """The server as it comes, with rooms that are stored."""

    async def get_room(self, name: str) -> YRoom:
        """A room by its path. Without the handler, one dropped connection ends the server."""
        if name not in self.rooms:
            self.rooms[name] = YRoom(ystore=Store(name), exception_handler=exception_logger, log=self.log)
        await self.start_room(self.rooms[name])
        return self.rooms[name]


async def main() -> None:
    """Serve until it is ended."""
    async with Rooms(exception_handler=exception_logger) as rooms:
        config = uvicorn.Config(
            ASGIServer(rooms), host="127.0.0.1", port=int(sys.argv[1]), loop="uvloop", log_level="warning"
        )
        await uvicorn.Server(config).serve()


if __name__ == "__main__":
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())
