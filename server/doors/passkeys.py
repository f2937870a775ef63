"""Passkeys: how a person shows that it is them. Owns each ceremony from its challenge to its verdict.

The person is always verified (a finger, a face, a PIN), never merely present; the page is exactly ours, at the top of
its window; a challenge is good once. Must never tell which check has failed: every refusal is the same.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Final
from uuid import UUID

from webauthn import (
    generate_authentication_options,
    generate_registration_options,
    verify_authentication_response,
    verify_registration_response,
)
from webauthn.helpers import base64url_to_bytes, options_to_json_dict
from webauthn.helpers.structs import (
    AuthenticatorSelectionCriteria,
    PublicKeyCredentialDescriptor,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from crdt_docs.ids import UserId
from server.domain.access import Proven
from server.domain.audit import Deed
from server.domain.clock import Clock
from server.domain.credential import SecretHash
from server.domain.errors import Forbidden, Invalid, Unauthenticated
from server.domain.login import Login
from server.domain.passkey import Passkey, PasskeyId, Purpose, is_fresh
from server.domain.user import User
from server.doors.links import Arrival, Entered, Threshold
from server.store.passkeys import Passkeys

NAME: Final = "Clew"
_VERIFIED: Final = UserVerificationRequirement.REQUIRED
_CRITERIA: Final = AuthenticatorSelectionCriteria(
    resident_key=ResidentKeyRequirement.REQUIRED, require_resident_key=True, user_verification=_VERIFIED
)

Options = dict[str, Any]
Credential = Mapping[str, Any]


class Refused(Unauthenticated):
    """This passkey was not accepted."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a ceremony is held: the page's exact origin, and the host name that its passkeys are for."""

    origin: str
    name: str

    @classmethod
    def of(cls, scheme: str, host: str) -> Place:
        """By a Host header that names us. Raises Invalid for an address in numbers: passkeys are for names."""
        name = re.sub(r":\d+$", "", host.lower())
        try:
            ip_address(name.strip("[]"))
        except ValueError:
            return cls(f"{scheme}://{host.lower()}", name)
        raise Invalid("Passkeys are for names: open Clew by its name, on this machine by localhost.")


class PasskeyDoor:
    """Registers passkeys, lets in by them, and has people show that it is them."""

    def __init__(self, passkeys: Passkeys, threshold: Threshold, clock: Clock) -> None:
        self._passkeys = passkeys
        self._over = threshold
        self._clock = clock

    async def begin_registration(self, login: Login, place: Place) -> Options:
        """What the browser is to make a passkey by. Raises Forbidden if the person has one and has not just used it.

        Otherwise whoever holds a copied cookie for a minute could give themselves a way in for good.
        """
        user = await self._user(login.user)
        known = await self._passkeys.of_user(login.user)
        self._require_proof(login, known)
        options = generate_registration_options(
            rp_id=place.name,
            rp_name=NAME,
            user_name=user.name,
            user_display_name=user.name,
            user_id=handle_of(user.id),
            authenticator_selection=_CRITERIA,
            exclude_credentials=[PublicKeyCredentialDescriptor(one.credential) for one in known],
        )
        await self._expect(options.challenge, "register", login)
        return options_to_json_dict(options)

    async def register(self, login: Login, place: Place, credential: Credential, name: str) -> Passkey:
        """Keep the passkey that was made. Raises Refused, or Conflict if it is here already."""
        challenge = await self._take(credential, "register", login)
        self._require_proof(login, await self._passkeys.of_user(login.user))
        try:
            made = verify_registration_response(
                credential=dict(credential),
                expected_challenge=challenge,
                expected_rp_id=place.name,
                expected_origin=place.origin,
                require_user_verification=True,
            )
        except Exception as error:  # whatever the library makes of bytes that anybody may have sent
            raise Refused from error
        now = self._clock.now()
        passkey = await self._passkeys.add(
            login, made.credential_id, made.credential_public_key, made.sign_count, name,
            made.credential_backed_up, now,
        )  # fmt: skip
        await self._over.logins.prove(login.user, login.id, now)
        await self._note("passkey.added", login, passkey.id)
        return passkey

    async def begin_sign_in(self, place: Place) -> Options:
        """What the browser is to look for: any passkey of this place, for nobody has said who they are."""
        options = generate_authentication_options(rp_id=place.name, user_verification=_VERIFIED)
        await self._expect(options.challenge, "sign_in", None)
        return options_to_json_dict(options)

    async def sign_in(self, place: Place, credential: Credential, arrival: Arrival) -> Entered:
        """Sign in whose passkey it is. Raises Refused, or Conflict for a browser whose key is another person's."""
        known = await self._passkeys.find(_bytes(credential.get("rawId")))
        if known is not None:
            await self._over.require_own_key(known.user, arrival.key)
        passkey = await self._verify(place, credential, "sign_in", None)
        user = await self._over.users.get(passkey.user)
        if user is None:
            raise Refused
        now = self._clock.now()
        return await self._over.enter(user, arrival, now, "passkey.entered", proven=Proven("passkey", now))

    async def begin_proof(self, login: Login, place: Place) -> Options:
        """What the browser is to sign so that the person shows that it is them. Raises Invalid if they have none."""
        known = await self._passkeys.of_user(login.user)
        if not known:
            raise Invalid("You have no passkey yet; add one first.")
        options = generate_authentication_options(
            rp_id=place.name,
            user_verification=_VERIFIED,
            allow_credentials=[PublicKeyCredentialDescriptor(one.credential) for one in known],
        )
        await self._expect(options.challenge, "prove", login)
        return options_to_json_dict(options)

    async def prove(self, login: Login, place: Place, credential: Credential) -> float:
        """Note that the person has shown that it is them, and when (Unix seconds). Raises Refused."""
        await self._verify(place, credential, "prove", login)
        now = self._clock.now()
        if not await self._over.logins.prove(login.user, login.id, now):
            raise Refused
        await self._note("person.proven", login, login.id)
        return now

    async def require_proof(self, login: Login) -> None:
        """Raise Forbidden if the person has a passkey and has not just used it: for whatever gives one more way in."""
        self._require_proof(login, await self._passkeys.of_user(login.user))

    async def remove(self, login: Login, passkey: PasskeyId) -> bool:
        """Forget the person's passkey; False if it is not theirs. Raises Forbidden if they have not just used one."""
        self._require_proof(login, await self._passkeys.of_user(login.user))
        if not await self._passkeys.delete(login.user, passkey):
            return False
        await self._note("passkey.removed", login, passkey)
        return True

    async def _verify(self, place: Place, credential: Credential, purpose: Purpose, login: Login | None) -> Passkey:
        challenge = await self._take(credential, purpose, login)
        passkey = await self._passkeys.find(_bytes(credential.get("rawId")))
        if passkey is None or not _is_of(passkey, credential, login):
            raise Refused
        try:
            shown = verify_authentication_response(
                credential=dict(credential),
                expected_challenge=challenge,
                expected_rp_id=place.name,
                expected_origin=place.origin,
                credential_public_key=passkey.public_key,
                credential_current_sign_count=passkey.sign_count,
                require_user_verification=True,
            )
        except Exception as error:  # whatever the library makes of bytes that anybody may have sent
            raise Refused from error
        if not await self._passkeys.used(passkey, shown.new_sign_count, self._clock.now()):
            raise Refused
        return passkey

    async def _expect(self, challenge: bytes, purpose: Purpose, login: Login | None) -> None:
        await self._passkeys.expect(_hash(challenge), purpose, login.id if login else None, self._clock.now())

    async def _take(self, credential: Credential, purpose: Purpose, login: Login | None) -> bytes:
        """The challenge that the credential answers, burned with this: a second answer to it is a replay."""
        told = _client_data(credential)
        challenge = _bytes(told.get("challenge"))
        good = await self._passkeys.take(_hash(challenge), purpose, login.id if login else None, self._clock.now())
        # py_webauthn reads crossOrigin and lets it pass: a page inside another's frame is not ours to trust
        if not good or told.get("crossOrigin", False) is not False or "topOrigin" in told:
            raise Refused
        return challenge

    def _require_proof(self, login: Login, known: list[Passkey]) -> None:
        if known and not is_fresh(login, self._clock.now()):
            raise Forbidden("Show first that it is you, with a passkey that you have.", "unproven")

    async def _user(self, user: UserId) -> User:
        found = await self._over.users.get(user)
        if found is None:
            raise Unauthenticated
        return found

    async def _note(self, event: str, login: Login, subject: str) -> None:
        by = Deed(user=login.user, device=login.device)
        await self._over.audit.append(event, self._clock.now(), by=by, subjects=[subject])


def handle_of(user: UserId) -> bytes:
    """How authenticators know the user: 122 random bits that say nothing of them."""
    return UUID(user).bytes


def _is_of(passkey: Passkey, credential: Credential, login: Login | None) -> bool:
    """Whether the passkey is the person's who is in; or whom the authenticator says that it is, of who comes in."""
    if login is not None:
        return passkey.user == login.user
    response = credential.get("response")
    handle = response.get("userHandle") if isinstance(response, Mapping) else None
    return _bytes(handle) == handle_of(passkey.user)


def _client_data(credential: Credential) -> Mapping[str, Any]:
    response = credential.get("response")
    try:
        told = json.loads(_bytes(response.get("clientDataJSON") if isinstance(response, Mapping) else None))
    except (ValueError, RecursionError):
        raise Refused from None
    if not isinstance(told, dict):
        raise Refused
    return told


def _bytes(value: object) -> bytes:
    """What unpadded base64url stands for; nothing for anything else."""
    try:
        return base64url_to_bytes(value) if isinstance(value, str) else b""
    except ValueError:
        return b""


def _hash(challenge: bytes) -> SecretHash:
    return SecretHash(hashlib.sha256(challenge).digest())
