"""Peers without manners: pings whose answers nobody reads, talk after a close. Neither grows the server."""

from __future__ import annotations

import base64
import os
import socket
import struct
import time
from pathlib import Path

from kit.served import Served


def resident(served: Served) -> int:
    """kB of memory of the serving process."""
    status = Path(f"/proc/{served.server.pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS")))


def upgrade(served: Served, task: str, protocols: str) -> socket.socket:
    """A socket after its handshake, raw."""
    connection = socket.create_connection(("127.0.0.1", served.server.port))
    key = base64.b64encode(os.urandom(16)).decode()
    connection.sendall(
        f"GET /sync/{task} HTTP/1.1\r\nHost: 127.0.0.1:{served.server.port}\r\nUpgrade: websocket\r\n"
        f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n"
        f"Sec-WebSocket-Protocol: {protocols}\r\n\r\n".encode()
    )
    head = b""
    while b"\r\n\r\n" not in head:
        head += connection.recv(1)
    assert b" 101 " in head
    return connection


def say(connection: socket.socket, data: bytes, most: int) -> int:
    """Send it over and over without reading anything, so much or until it is refused; how many bytes went."""
    connection.settimeout(20)
    sent = 0
    while sent < most:
        try:
            sent += connection.send(data)
        except OSError:
            break
    return sent


def test_pings_whose_pongs_are_never_read_do_not_grow_the_server(served: Served) -> None:
    ping = (b"\x89\xfd" + bytes(4) + bytes(125)) * 500
    with upgrade(served, served.new_task(), f"clew.v1, token.{served.token}") as connection:
        before = resident(served)
        assert say(connection, ping, 12_000_000) >= 12_000_000
        assert resident(served) - before < 8_000
    assert served.new_task()


def test_who_was_told_to_go_and_talks_on_is_cut_off(served: Served) -> None:
    frame = b"\x82\xff" + struct.pack(">Q", 30_000_000) + bytes(4)
    with upgrade(served, served.new_task(), "clew.v1, token.nobody") as connection:
        before = resident(served)
        time.sleep(0.3)
        connection.sendall(frame)
        assert say(connection, bytes(65_536), 15_000_000) < 15_000_000
        assert resident(served) - before < 8_000
    assert served.new_task()


def test_a_frame_over_the_bound_ends_4413_so_that_no_client_sends_it_again(served: Served) -> None:
    """Attack 37."""
    with upgrade(served, served.new_task(), f"clew.v1, token.{served.token}") as connection:
        connection.sendall(b"\x82\xff" + struct.pack(">Q", 40_000_000) + bytes(4) + bytes(1_000))
        connection.settimeout(10)
        heard = b""
        while not heard.startswith(b"\x88") and (more := connection.recv(4_096)):
            heard += more
        assert heard[:1] == b"\x88"
        assert struct.unpack(">H", heard[2:4]) == (4413,)
