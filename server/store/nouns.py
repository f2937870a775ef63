"""All noun stores over one database, so that whoever needs two does not build them twice."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from server.store.accounts import Accounts
from server.store.agents import Agents
from server.store.audit import Audit
from server.store.bound_sessions import BoundSessions
from server.store.database import Database
from server.store.device_grants import DeviceGrants
from server.store.device_keys import DeviceKeys
from server.store.devices import Devices
from server.store.handoffs import Handoffs
from server.store.identities import Identities
from server.store.invitations import Invitations
from server.store.keys import Keys
from server.store.looks import Looks
from server.store.names import Names
from server.store.passkeys import Passkeys
from server.store.places import Places
from server.store.policies import Policies
from server.store.sessions import Sessions
from server.store.shares import Shares
from server.store.tasks import Tasks
from server.store.tickets import Tickets
from server.store.tokens import Links, Logins, Tokens
from server.store.turns import Turns
from server.store.users import Users

DATABASE = "clew.db"


@dataclass(frozen=True, slots=True)
class Nouns:
    """The stores. For the composition root and the CLI; everything else is given the ones that it uses."""

    database: Database
    users: Users
    devices: Devices
    sessions: Sessions
    tasks: Tasks
    tokens: Tokens
    logins: Logins
    links: Links
    tickets: Tickets
    audit: Audit
    agents: Agents
    turns: Turns
    looks: Looks
    names: Names
    places: Places
    keys: Keys
    accounts: Accounts
    passkeys: Passkeys
    invitations: Invitations
    identities: Identities
    device_grants: DeviceGrants
    device_keys: DeviceKeys
    bound_sessions: BoundSessions
    policies: Policies
    shares: Shares
    handoffs: Handoffs


@asynccontextmanager
async def open_nouns(folder: Path) -> AsyncIterator[Nouns]:
    """Open ``clew.db`` in the data folder, which the caller holds."""
    async with AsyncExitStack() as stack:
        db = await stack.enter_async_context(Database.open(folder / DATABASE))
        keys = stack.enter_context(Keys(folder))
        yield Nouns(
            db,
            Users(db),
            Devices(db),
            Sessions(db),
            Tasks(db),
            Tokens(db),
            Logins(db),
            Links(db),
            Tickets(db),
            Audit(db, keys),
            Agents(db),
            Turns(db),
            Looks(db),
            Names(db),
            Places(db),
            keys=keys,
            accounts=Accounts(db),
            passkeys=Passkeys(db),
            invitations=Invitations(db),
            identities=Identities(db),
            device_grants=DeviceGrants(db),
            device_keys=DeviceKeys(db),
            bound_sessions=BoundSessions(db),
            policies=Policies(db),
            shares=Shares(db),
            handoffs=Handoffs(db),
        )
