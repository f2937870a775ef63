"""DNS rebinding, forged requests and hijacked sockets, by the rule itself and over ASGI."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from server.domain.errors import Invalid
from server.doors.origin import Head, Hosts, OriginGate, Pass, Refuse, judge

HOSTS = Hosts.allowing(["clew.example"])


def head(kind: str = "http", method: str = "GET", scheme: str = "http", target: str = "/", **headers: str) -> Head:
    given = {"host": "localhost:8484", **headers}
    pairs = tuple((name.replace("_", "-"), value) for name, value in given.items())
    return Head(
        kind="websocket" if kind == "websocket" else "http", method=method, scheme=scheme, target=target, headers=pairs
    )


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:1", "LOCALHOST:8484", "127.0.0.1:8484", "[::1]:8484", "clew.example"]
)
def test_our_own_names_are_known(host: str) -> None:
    assert judge(head(host=host), HOSTS) == Pass()


@pytest.mark.parametrize(
    "host",
    [
        "evil.example", "localhost.", "localhost.:8484", "127.0.0.1.nip.io", "127.1", "0.0.0.0:8484", "[::]:8484",
        "::1", "localhost.evil.example", "localhost:8484@evil.example", "localhost, evil.example", "localhost:",
        "localhost:99x",
        "sub.clew.example", "clew.example.", " localhost", "",
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_attack_24_any_other_name_is_refused_before_anything_else(host: str, kind: str) -> None:
    verdict = judge(head(kind, host=host), HOSTS)
    assert isinstance(verdict, Refuse) and verdict.status == 400


def test_attack_24_two_host_headers_and_none_are_refused() -> None:
    two = Head("http", "GET", "http", "/", (("host", "localhost"), ("host", "localhost")))
    none = Head("http", "GET", "http", "/", ())
    for one in (two, none):
        verdict = judge(one, HOSTS)
        assert isinstance(verdict, Refuse) and verdict.status == 400


def test_attack_24_a_target_in_absolute_form_is_refused() -> None:
    verdict = judge(head(target="http://evil.example/api/v1/tasks"), HOSTS)
    assert isinstance(verdict, Refuse) and verdict.status == 400


def test_a_name_with_a_port_allows_that_port_alone() -> None:
    hosts = Hosts.allowing(["clew.example:444"])
    assert hosts.know("clew.example:444") and not hosts.know("clew.example") and not hosts.know("clew.example:445")


@pytest.mark.parametrize("name", ["https://clew.example", "clew example", "*", "*.example", ""])
def test_an_allowed_name_must_be_a_name(name: str) -> None:
    with pytest.raises(Invalid):
        Hosts.allowing([name])


FOREIGN = [
    "http://evil.example", "null", "http://localhost:8485", "https://localhost:8484", "http://localhost",
    "localhost:8484", "http://localhost:8484.evil.example", "http://127.0.0.1:8484", "http://localhost:8484/",
    "http://a@localhost:8484", "", "http://localhost.:8484",
]  # fmt: skip


@pytest.mark.parametrize("origin", FOREIGN)
@pytest.mark.parametrize("method", ["POST", "PATCH", "PUT", "DELETE", "BREW", "GET"])
def test_attack_23_and_27_a_foreign_origin_is_refused_whatever_it_carries(origin: str, method: str) -> None:
    given = head(method=method, origin=origin, authorization="Bearer x", sec_fetch_site="same-origin")
    verdict = judge(given, HOSTS)
    assert isinstance(verdict, Refuse) and verdict.status == 403


@pytest.mark.parametrize("origin", FOREIGN)
def test_attack_23_a_page_of_another_origin_opens_no_socket(origin: str) -> None:
    given = head("websocket", origin=origin, cookie="clew-8484=x", sec_websocket_protocol="clew.v1, token.x")
    verdict = judge(given, HOSTS)
    assert isinstance(verdict, Refuse) and verdict.status == 403


def test_two_origins_are_refused() -> None:
    given = (("host", "localhost"), ("origin", "http://localhost"), ("origin", "http://localhost"))
    assert isinstance(judge(Head("http", "POST", "http", "/", given), HOSTS), Refuse)


@pytest.mark.parametrize(
    ("scheme", "host", "origin"),
    [
        ("http", "localhost:8484", "http://localhost:8484"),
        ("http", "localhost", "http://localhost:80"),
        ("https", "clew.example:443", "https://clew.example"),
        ("http", "[::1]:8484", "http://[::1]:8484"),
        ("http", "LocalHost:8484", "http://localhost:8484"),
    ],
)
def test_our_own_origin_passes(scheme: str, host: str, origin: str) -> None:
    assert judge(head("http", "POST", scheme, host=host, origin=origin, cookie="c=1"), HOSTS) == Pass()
    assert judge(head("websocket", scheme=scheme, host=host, origin=origin), HOSTS) == Pass()


def test_a_change_by_cookie_must_say_where_it_comes_from() -> None:
    assert isinstance(judge(head(method="POST", cookie="clew-8484=x"), HOSTS), Refuse)
    assert judge(head(method="POST", cookie="clew-8484=x", sec_fetch_site="same-origin"), HOSTS) == Pass()
    for site in ("cross-site", "same-site", "none"):
        assert isinstance(judge(head(method="POST", cookie="clew-8484=x", sec_fetch_site=site), HOSTS), Refuse)
        assert isinstance(judge(head(method="POST", authorization="Bearer x", sec_fetch_site=site), HOSTS), Refuse)


def test_a_script_with_a_bearer_needs_no_origin() -> None:
    assert judge(head(method="POST", authorization="Bearer x"), HOSTS) == Pass()
    assert judge(head("websocket", authorization="Bearer x"), HOSTS) == Pass()
    assert judge(head("websocket", sec_websocket_protocol="clew.v1, token.x"), HOSTS) == Pass()


def test_a_ticket_without_an_origin_opens_no_socket() -> None:
    for offered in ("clew.v1, ticket.x", "clew.v1,ticket.x", "ticket.x"):
        verdict = judge(head("websocket", sec_websocket_protocol=offered), HOSTS)
        assert isinstance(verdict, Refuse) and verdict.status == 403


def scope(kind: str, **headers: str) -> Scope:
    given = {"host": "evil.example", **headers}
    return {
        "type": kind, "path": "/sync/x", "scheme": "ws" if kind == "websocket" else "http", "method": "GET",
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
        "extensions": {"websocket.http.response": {}},
    }  # fmt: skip


async def run(given: Scope) -> tuple[list[Message], list[Scope]]:
    """What the gate sends, and which scopes reach the application behind it."""
    sent: list[Message] = []
    reached: list[Scope] = []

    async def app(inner: Scope, receive: Receive, send: Send) -> None:
        reached.append(inner)

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        sent.append(message)

    await OriginGate(app, HOSTS)(given, receive, send)
    return sent, reached


async def test_a_refused_upgrade_is_an_http_answer_and_reaches_nothing() -> None:
    sent, reached = await run(scope("websocket"))
    assert not reached
    assert [message["type"] for message in sent] == ["websocket.http.response.start", "websocket.http.response.body"]
    assert sent[0]["status"] == 400 and b'"code": "invalid"' in sent[1]["body"]


async def test_a_refused_request_reaches_nothing() -> None:
    sent, reached = await run(scope("http"))
    assert not reached and sent[0]["status"] == 400


async def test_what_is_neither_http_nor_websocket_passes() -> None:
    sent, reached = await run({"type": "lifespan"})
    assert not sent and len(reached) == 1
