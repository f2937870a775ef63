"""The keys by which devices prove that they are themselves. Owns that a key is one device's, and so one person's."""

from __future__ import annotations

from crdt_docs.ids import DeviceId, UserId
from server.domain.errors import Conflict
from server.domain.proof import Thumbprint
from server.store.database import Database


class DeviceKeys:
    """Thumbprints of public keys, by device."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, device: DeviceId) -> Thumbprint | None:
        """The device's key; None if it never showed one."""
        row = await self._database.one("SELECT thumbprint FROM device_keys WHERE device = ?", device)
        return Thumbprint(row[0]) if row else None

    async def owner(self, key: Thumbprint) -> tuple[UserId, DeviceId] | None:
        """Whose key it is, and of which of their devices; those that are revoked have none."""
        row = await self._database.one(
            "SELECT d.user, d.id FROM device_keys k JOIN devices d ON d.id = k.device WHERE k.thumbprint = ?", key
        )
        return (UserId(row[0]), DeviceId(row[1])) if row else None

    async def bind(self, device: DeviceId, key: Thumbprint, at: float) -> None:
        """Give a device its key, for ever. Raises Conflict if it has another, or if another device has that one."""
        rows = await self._database.write(
            "INSERT INTO device_keys (device, thumbprint, since) VALUES (?1, ?2, ?3)"
            " ON CONFLICT (device) DO UPDATE SET since = since WHERE thumbprint = ?2 RETURNING device",
            device,
            key,
            at,
        )
        if not rows:
            raise Conflict("This device has another key.")
