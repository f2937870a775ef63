"""Networks at their worst, with real sockets: resets in mid-stream, ends that fall silent, a server that stands still.

Nobody loses anything: not what was confirmed, nor what was typed while nobody listened; and no socket is left behind.
"""

from __future__ import annotations

import asyncio
import os
import random
import socket
import time
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from kit.delay_proxy import DelayProxy
from kit.returning import AT_ONCE, Device, agree, until
from kit.served import Served, serve

HELD_FOR = 110.0
"""Seconds after which a socket whose peer is silent must be gone: a ping every 20, 70 for its answer, and a breath."""
STILL = 40.0
WORKERS = 8
"""Descriptors of workers that start with the first job of their kind, and stay."""


def gauge(served: Served, name: str) -> float:
    """One of the server's own counts."""
    with urllib.request.urlopen(f"{served.server.url}/metrics", timeout=60) as answer:
        for line in answer.read().decode().splitlines():
            if line.startswith(f"{name} "):
                return float(line.split()[1])
    raise AssertionError(f"no metric {name}")


def descriptors(served: Served) -> int:
    """How many files and sockets the server has open."""
    return len(os.listdir(f"/proc/{served.server.pid}/fd"))


async def left_alone(served: Served, files: int, within: float) -> None:
    """Wait until the server has no connection but the one that asks, and no more open than those descriptors."""
    await until(lambda: gauge(served, "clew_connections_open") == 1 and descriptors(served) <= files + WORKERS, within)


@asynccontextmanager
async def living(devices: list[Device], port: int, task: str, token: str) -> AsyncIterator[None]:
    """Devices that work and come back for as long as the block lasts, and then finish."""
    async with asyncio.TaskGroup() as lives:
        for device in devices:
            lives.create_task(device.live(port, task, token))
        try:
            yield
        finally:
            for device in devices:
                device.rest()


async def reset_again_and_again(served: Served, number: int, resets: int) -> list[Device]:
    task = served.new_task()
    devices = [Device(f"d{n}") for n in range(number)]
    async with living(devices, served.server.port, task, served.token):
        done = 0
        while done < resets:
            await asyncio.sleep(random.uniform(0.01, 0.1))
            done += random.choice(devices).reset()
    keys = await agree(devices, served.server.port, task, served.token)
    assert all(device.confirmed <= keys for device in devices)
    return devices


async def test_sockets_that_are_reset_in_mid_stream_lose_nothing(served: Served) -> None:
    devices = await reset_again_and_again(served, 3, 12)
    assert sum(device.joins for device in devices) >= 12


@pytest.mark.soak
@pytest.mark.timeout(900)
async def test_a_thousand_resets_lose_nothing_and_leave_nothing_behind(tmp_path: Path) -> None:
    with serve(tmp_path) as served:
        await reset_again_and_again(served, 2, 2)  # what is opened once and kept
        files = descriptors(served)
        devices = await reset_again_and_again(served, 20, 1_000)
        await left_alone(served, files, 60)
        assert "all is sound" in served.server.clew("verify")
    joins, keys = sum(device.joins for device in devices), sum(len(device.keys) for device in devices)
    print(f"1000 resets, {joins} joins, {keys} keys, all of them everywhere")


def say_half(served: Served, task: str, cut: float) -> None:
    """A handshake and a frame, of which only that share is sent before the reset."""
    head = (
        f"GET /sync/{task} HTTP/1.1\r\nHost: 127.0.0.1:{served.server.port}\r\nConnection: Upgrade\r\n"
        "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
        f"Sec-WebSocket-Protocol: clew.v1, token.{served.token}\r\n\r\n"
    ).encode()
    said = head + b"\x82\xfe\x40\x00" + bytes(4) + bytes(0x4000)
    with socket.create_connection(("127.0.0.1", served.server.port)) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
        connection.sendall(said[: int(len(said) * cut)])


@pytest.mark.soak
@pytest.mark.timeout(600)
async def test_a_reset_at_any_byte_of_handshake_and_frame_leaves_nothing_behind(tmp_path: Path) -> None:
    with serve(tmp_path) as served:
        await reset_again_and_again(served, 2, 2)
        task, files = served.new_task(), descriptors(served)
        for n in range(2_000):
            await asyncio.to_thread(say_half, served, task, (n / 1_999) ** 3)  # more of them in the handshake
        await left_alone(served, files, 120)
        assert served.server.log.read_text().count("Traceback") == 0


@pytest.mark.soak
@pytest.mark.timeout(600)
async def test_sockets_whose_other_end_fell_silent_are_let_go_and_their_devices_come_back(tmp_path: Path) -> None:
    """Half open: the server hears nothing more, neither a close nor a reset, and must find out by itself."""
    with serve(tmp_path) as served:
        devices, near = [Device(f"far{n}", silence=30) for n in range(10)], Device("near")
        task = served.new_task()
        async with (
            DelayProxy(served.server.port) as wire,
            living([near], served.server.port, task, served.token),
            living(devices, wire.port, task, served.token),
        ):
            await until(lambda: all(device.confirmed for device in devices), 60)
            wire.hang()
            for device in devices:
                device.rest()
            began, joins = time.monotonic(), near.joins
            await until(lambda: gauge(served, "clew_connections") <= 1, HELD_FOR)
            held = time.monotonic() - began
            assert near.joins == joins, "who is not concerned notices nothing"
        await agree([*devices, near], served.server.port, task, served.token)
        assert "all is sound" in served.server.clew("verify")
    print(f"10 half-open sockets were let go after {held:.0f} s")


@pytest.mark.soak
@pytest.mark.timeout(600)
async def test_devices_that_come_back_to_a_server_that_stood_still_lose_nothing(tmp_path: Path) -> None:
    """SIGSTOP for 40 s: each gives up after 10 s of silence, knocks in vain, edits on, and is let in at the end."""
    with serve(tmp_path) as served:
        task = served.new_task()
        devices = [Device(f"d{n}", silence=10) for n in range(20)]
        files = descriptors(served)
        async with living(devices, served.server.port, task, served.token):
            await until(lambda: all(device.confirmed for device in devices), 60)
            served.server.freeze()
            await asyncio.sleep(STILL)
            served.server.thaw()
            joins = [device.joins for device in devices]
            before = {device: len(device.confirmed) for device in devices}
            await until(lambda: all(len(device.confirmed) > before[device] for device in devices), 60)
        assert max(device.joins for device in devices) > min(joins), "they came back"
        keys = await agree(devices, served.server.port, task, served.token)
        assert all(device.confirmed <= keys for device in devices)
        await left_alone(served, files, 60)
        served.server.kill()
        served.server.start()
        assert await agree(devices, served.server.port, task, served.token) == keys
        assert "all is sound" in served.server.clew("verify")
