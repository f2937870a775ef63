"""How people come in by the page: a passkey, their organisation, an invitation; and how they let a program in."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest
from kit.axe import complaints
from kit.devices import ARTIFACTS, Device, Devices
from kit.openid_provider import CLIENT, SECRET, OpenIdProvider, openid_provider
from kit.running_server import CLEW, ROOT, RunningServer, environment, running_server
from playwright.sync_api import Browser, CDPSession, expect

pytestmark = pytest.mark.browser

AUTHENTICATOR = {
    "protocol": "ctap2",
    "ctap2Version": "ctap2_1",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


@pytest.fixture(scope="module")
def provider() -> Iterator[OpenIdProvider]:
    with openid_provider() as provider:
        yield provider


@pytest.fixture(scope="module")
def house(provider: OpenIdProvider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server of this file's own, of an organisation."""
    folder = tmp_path_factory.mktemp("house")
    (folder / "secret").write_text(SECRET)
    options = [
        "--oidc-issuer", provider.issuer, "--oidc-client-id", CLIENT, "--oidc-secret-file", str(folder / "secret"),
        "--oidc-admit", "all", "--oidc-name", "Acme",
    ]  # fmt: skip
    with running_server(folder / "data", options) as running:
        yield running


@pytest.fixture(scope="module")
def people(chromium: Browser, house: RunningServer) -> Iterator[Devices]:
    ARTIFACTS.mkdir(exist_ok=True)
    with Devices(chromium, house, ARTIFACTS) as devices:
        yield devices


def at_name(house: RunningServer, path: str = "/") -> str:
    """By name: passkeys are for names."""
    return house.url.replace("127.0.0.1", "localhost") + path


def in_menu(device: Device, item: str) -> None:
    device.page.get_by_role("button", name="Menu").click()
    device.page.locator("#menu").get_by_role("button", name=item, exact=True).click()


def look(device: Device, name: str) -> None:
    """A picture for people, and what axe says."""
    device.picture(f"ways-in-{name}")
    assert complaints(device.page) == [], name
    assert device.overflow() <= 0, name


def virtual_authenticator(device: Device) -> tuple[CDPSession, str]:
    session = device.context.new_cdp_session(device.page)
    session.send("WebAuthn.enable")
    made: dict[str, Any] = session.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})
    return session, made["authenticatorId"]


def test_attack_07_a_passkey_is_made_in_one_press_signs_in_and_is_refused_where_nobody_was_verified(
    people: Devices, house: RunningServer
) -> None:
    laptop = people.new()
    page = laptop.page
    session, authenticator = virtual_authenticator(laptop)
    page.goto(house.link)
    expect(page.get_by_text("Next time, come in with your finger")).to_be_visible()
    look(laptop, "offer")
    page.get_by_role("button", name="Add a passkey").click()
    expect(page.get_by_text("The passkey is added")).to_be_visible()
    in_menu(laptop, "Account")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("listitem").filter(has_text="Chrome on Linux")).to_be_visible()
    look(laptop, "account")
    page.keyboard.press("Escape")
    in_menu(laptop, "Sign out")
    enter = page.get_by_role("button", name="Sign in with a passkey")
    expect(enter).to_be_visible()
    expect(page.get_by_role("button", name="Continue with Acme")).to_be_visible()
    look(laptop, "sign-in")
    for bits in ({"isBadUV": True}, {"isBogusSignature": True}):
        session.send("WebAuthn.setResponseOverrideBits", {"authenticatorId": authenticator, **bits})
        enter.click()
        expect(page.get_by_role("alert")).to_have_text("That passkey was not accepted here.")
        session.send(
            "WebAuthn.setResponseOverrideBits",
            {"authenticatorId": authenticator, "isBadUV": False, "isBogusSignature": False},
        )
    enter.click()
    expect(page.get_by_role("heading", name="Your tasks")).to_be_visible()
    expect(page.get_by_text("Next time, come in")).to_have_count(0)


def test_an_organisation_lets_its_people_in_and_out_again(
    people: Devices, house: RunningServer, provider: OpenIdProvider
) -> None:
    phone = people.new("phone", "dark")
    page = phone.page
    page.goto(at_name(house))
    page.get_by_role("button", name="Continue with Acme").click()
    expect(page.get_by_role("heading", name="Your tasks")).to_be_visible()
    assert page.url == at_name(house)
    in_menu(phone, "Account")
    expect(page.get_by_label("What others call you")).to_have_value("Jane Doe")
    expect(page.get_by_text("You can sign in by it.")).to_be_visible()
    look(phone, "account-phone")
    page.keyboard.press("Escape")
    phone.start_task("Acme's own")
    told = urlencode({"logout_token": provider.logout_token(sub=provider.person["sub"])}).encode()
    with urlopen(Request(f"{house.url}/api/v1/oidc/logout", told)) as answer:
        assert answer.status == 200
    expect(page.get_by_role("alert").first).to_be_visible()
    page.reload()
    expect(page.get_by_role("button", name="Continue with Acme")).to_be_visible()


def test_who_is_invited_joins_and_lets_their_own_command_line_in(
    people: Devices, house: RunningServer, tmp_path: Path
) -> None:
    kept = tmp_path / "credentials.json"
    own = {**environment(), "CLEW_CREDENTIALS": str(kept)}
    command = [*CLEW, "login", "--server", at_name(house, ""), "--ttl", "1h"]
    program = subprocess.Popen(command, cwd=ROOT, env=own, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    owner = people.new().sign_in(house.new_link())
    in_menu(owner, "Account")
    owner.page.get_by_role("button", name="Make an invitation").click()
    invitation = owner.page.get_by_role("group", name="Invitation").inner_text()

    phone = people.new("phone")
    page = phone.page
    page.goto(invitation)
    expect(page.get_by_label("Your name")).to_be_focused()
    assert page.url.endswith("/i")
    look(phone, "invited-phone")
    page.keyboard.type("Bob")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Your tasks")).to_be_visible()

    assert program.stderr is not None
    said = program.stderr.readline() + program.stderr.readline()
    found = re.search(r"[B-Z]{4}-[B-Z]{4}", said)
    assert found and f"{at_name(house)}device" in said
    page.goto(f"{house.url}/device")
    expect(page.get_by_label("Code")).to_be_visible()
    page.get_by_label("Code").fill("BBBB-BBBB")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("No program waits with that code")
    page.get_by_label("Code").fill(found[0].lower())
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Decline")).to_be_focused()
    look(phone, "device-asked-phone")
    page.get_by_label("At most as").select_option("viewer")
    page.get_by_role("button", name="Let it in").click()
    expect(page.get_by_text("It is let in")).to_be_visible()
    out, _ = program.communicate(timeout=20)
    assert program.returncode == 0 and "Signed in to" in out
    assert stat.S_IMODE(os.stat(kept).st_mode) == 0o600
    bearer = json.loads(kept.read_text())[at_name(house, "")]["token"]
    with urlopen(Request(f"{house.url}/api/v1/me", headers={"authorization": f"Bearer {bearer}"})) as answer:
        assert b'"name":"Bob"' in answer.read()

    page.get_by_role("link", name="Clew").click()
    in_menu(phone, "Account")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download it").click()
    assert '"name": "Bob"' in Path(download.value.path()).read_text()
    page.get_by_role("button", name="Erase me").click()
    page.get_by_label("To go on, type your name").fill("Bob")
    look(phone, "erase-phone")
    page.get_by_role("button", name="Erase me for good").click()
    expect(page.get_by_text("You are erased from this server")).to_be_visible()
    assert "Bob" not in house.clew("user", "list")
