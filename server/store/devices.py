"""Installations that people use. A revoked device keeps its row and loses its doors, in one transaction."""

from __future__ import annotations

from typing import Final

from crdt_docs.ids import DeviceId, UserId, new_id
from server.domain.device import Device, Level
from server.store.database import Database, Row

_COLUMNS: Final = (
    "id, user, name, kind, created_at, seen_at, revoked_at,"
    " CASE WHEN EXISTS (SELECT 1 FROM bound_sessions b JOIN logins l ON l.id = b.login WHERE l.device = devices.id)"
    " THEN 2 ELSE EXISTS (SELECT 1 FROM device_keys k WHERE k.device = devices.id) END"
)

_BEGOTTEN: Final = ("tickets", "links", "device_grants", "invitations", "export_tickets")
"""What a device has made for somebody to come in by, and what is still to be fetched."""


class Devices:
    """The devices of all users; every lookup names the user, and answers None for another's as for none."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, user: UserId, name: str, kind: str, at: float) -> Device:
        """Register a device. Raises Conflict if there is no such user."""
        device = Device(DeviceId(new_id()), user, name, kind, at, at)
        await self._database.write(
            "INSERT INTO devices (id, user, name, kind, created_at, seen_at) VALUES (?, ?, ?, ?, ?, ?)",
            device.id,
            user,
            name,
            kind,
            at,
            at,
        )
        return device

    async def get(self, user: UserId, device: DeviceId) -> Device | None:
        """The user's device, revoked or not."""
        row = await self._database.one(f"SELECT {_COLUMNS} FROM devices WHERE id = ? AND user = ?", device, user)
        return _device(row) if row else None

    async def of_user(self, user: UserId, *, revoked: bool = False) -> list[Device]:
        """The user's devices, the one last seen first; with the revoked ones if asked for."""
        rows = await self._database.all(
            f"SELECT {_COLUMNS} FROM devices WHERE user = ? AND (revoked_at IS NULL OR ?) ORDER BY seen_at DESC, id",
            user,
            revoked,
        )
        return [_device(row) for row in rows]

    async def rename(self, user: UserId, device: DeviceId, name: str) -> Device | None:
        """Give the user's device another name."""
        rows = await self._database.write(
            f"UPDATE devices SET name = ? WHERE id = ? AND user = ? RETURNING {_COLUMNS}", name, device, user
        )
        return _device(rows[0]) if rows else None

    async def seen(self, devices: list[DeviceId], at: float) -> None:
        """Note that the devices were in use; never earlier than what is known."""
        marks = ", ".join("?" * len(devices))
        await self._database.write(f"UPDATE devices SET seen_at = max(seen_at, ?) WHERE id IN ({marks})", at, *devices)

    async def revoke(self, user: UserId, device: DeviceId, at: float) -> Device | None:
        """Revoke the device, its logins, tokens, sessions and the ways in that it made. Again is the same as once."""
        async with self._database.transaction() as tx:
            row = await tx.one(
                "UPDATE devices SET revoked_at = coalesce(revoked_at, ?) WHERE id = ? AND user = ?"
                f" RETURNING {_COLUMNS}",
                at,
                device,
                user,
            )
            if row is None:
                return None
            await tx.all(
                "INSERT OR IGNORE INTO revoked_logins (hash, user, expires_at)"
                " SELECT hash, user, expires_at FROM logins WHERE device = ?",
                device,
            )
            await tx.all("DELETE FROM logins WHERE device = ?", device)
            await tx.all("DELETE FROM device_keys WHERE device = ?", device)
            for begotten in _BEGOTTEN:
                await tx.all(f"DELETE FROM {begotten} WHERE device = ?", device)
            await tx.all("UPDATE tokens SET revoked_at = coalesce(revoked_at, ?) WHERE device = ?", at, device)
            await tx.all(
                "UPDATE attachments SET ended_at = ? WHERE ended_at IS NULL"
                " AND session IN (SELECT id FROM sessions WHERE device = ?)",
                at,
                device,
            )
            await tx.all(
                "UPDATE sessions SET ended_at = ?, task = NULL WHERE device = ? AND ended_at IS NULL", at, device
            )
        return _device(row)


def _device(row: Row) -> Device:
    return Device(DeviceId(row[0]), UserId(row[1]), row[2], row[3], row[4], row[5], row[6], Level(row[7]))
