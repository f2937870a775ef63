"""Attack 26: every kind of secret, used well and badly, and then looked for wherever something could have kept it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
from kit.agent_process import children_of
from kit.served import Served, serve

from server.store.opening import opened_texts

GRANT = "urn:ietf:params:oauth:grant-type:device_code"


class Flow:
    """Somebody who comes and goes by every door, and remembers each secret and each error page."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.origin = f"http://localhost:{served.server.port}"
        self.client = httpx2.Client(base_url=f"{self.origin}/api/v1", headers={"origin": self.origin}, trust_env=False)
        self.secrets: dict[str, str] = {}
        self.errors: list[str] = []

    def keep(self, kind: str, secret: str) -> str:
        assert len(secret) >= 8, kind
        self.secrets[kind] = secret
        return secret

    def post(self, path: str, body: object = None, **headers: str) -> httpx2.Response:
        answer = self.client.post(path, json={} if body is None else body, headers=headers)
        if answer.status_code >= 400:
            self.errors.append(f"{answer.headers} {answer.text}")
        return answer

    def made(self, path: str, body: object = None, status: int = 201, **headers: str) -> Any:
        answer = self.post(path, body, **headers)
        assert answer.status_code == status, (path, answer.status_code, answer.text)
        return answer.json()

    def come_in(self) -> None:
        """By the link that was printed; the cookie is a secret, too."""
        key = self.keep("link", self.served.server.link.partition("#k=")[2])
        assert self.post("/signin", {"key": key, "device": "laptop"}).status_code == 201
        [(_, cookie)] = [(name, value) for name, value in self.client.cookies.items()]
        self.keep("cookie", cookie)
        assert self.post("/signin", {"key": key}).status_code == 401, "burned, and the answer is an error page"

    def make_everything(self) -> str:
        """One of every secret that the API makes; the task that they are for."""
        task = self.made("/tasks", {"name": "Trial"})["id"]
        self.keep("bearer", self.made("/tokens", {"task": task})["token"])
        self.keep("ticket", self.made(f"/tasks/{task}/tickets")["ticket"])
        self.keep("second link", self.made("/links")["url"].partition("#")[2].partition("=")[2])
        self.keep("export", self.made("/me/export")["ticket"])
        for how in ("qr", "code"):
            offered = self.made("/handoffs", {"task": task, "how": how, "role": "editor"})
            self.keep(f"handoff by {how}", _secret_in(offered))
            self.client.post(f"/handoffs/{offered['id']}/decline", json={})
        self.keep("share", _secret_in(self.made(f"/tasks/{task}/shares")))
        self.keep("invitation", _secret_in(self.made("/invitations")))
        asked = self.client.post("/device/authorize", data={"client_id": "cli"}).json()
        self.keep("device code", asked["device_code"])
        self.keep("user code", asked["user_code"])
        host = self.keep("host bearer", self.served.server.new_token("owner", "--agent", "Ada")["token"])
        self.keep("operator's bearer", self.served.token)
        self.made(f"/tasks/{task}/messages", {"text": "Who buys whom?"})
        turn = self.client.get(f"/tasks/{task}/turns").json()["turns"][0]["id"]
        bearer = {"authorization": f"Bearer {host}"}
        lease = httpx2.post(f"{self.origin}/api/v1/turns/{turn}/lease", json={}, headers=bearer, trust_env=False)
        assert lease.status_code == 200, lease.text
        self.keep("grant", lease.json()["grant"]["token"])
        return str(task)

    def misuse_everything(self, task: str) -> None:
        """Each secret where it does not belong: in a path, a query, a header, a body. Few: refusals are slow."""

        def misuse(secret: str) -> None:
            bearer = {"authorization": f"Bearer {secret}x"}
            self._note(bare.get(f"/api/v1/{secret}", params={"token": secret}, headers=bearer))
            body = {"key": [secret], secret: secret}
            self._note(bare.post("/api/v1/signin", json=body, headers={"origin": self.origin}))

        with httpx2.Client(base_url=self.origin, trust_env=False) as bare, ThreadPoolExecutor(16) as threads:
            list(threads.map(misuse, self.secrets.values()))
            secret = self.secrets["bearer"]
            form = {"grant_type": GRANT, "device_code": f"{secret}x"}
            self._note(bare.post("/api/v1/device/token", data=form, headers={"origin": self.origin}))
            protocols = {"sec-websocket-protocol": f"clew.v1, token.{secret}"}
            self._note(bare.get(f"/sync/{task}/{secret}", params={"t": secret}, headers=protocols))

    def _note(self, answer: httpx2.Response) -> None:
        self.errors.append(f"{answer.status_code} {answer.headers} {answer.text}")


def _secret_in(answer: Mapping[str, Any]) -> str:
    """The secret that is shown once: typed, or in an address's fragment."""
    for value in answer.values():
        if isinstance(value, str) and (found := re.search(r"#(?:[a-z]+=)?(?:[0-9a-f-]{36}\.)?([\w-]{20,})$", value)):
            return found[1]
    for name in ("secret", "code"):
        if isinstance(answer.get(name), str):
            return str(answer[name])
    raise AssertionError(f"no secret in {sorted(answer)}")


def _arguments(pid: int) -> str:
    """What anybody on the machine can see of the server and of all that it has started."""
    family, found = [pid], ""
    for one in family:
        family += children_of(one)
        with suppress(OSError):  # it has ended meanwhile
            found += Path(f"/proc/{one}/cmdline").read_text(errors="replace")
    assert len(family) > 1
    return found


def test_attack_26_no_secret_is_in_any_log_error_metric_argument_or_file(tmp_path: Path) -> None:
    with serve(tmp_path) as served:
        flow = Flow(served)
        flow.come_in()
        task = flow.make_everything()
        flow.misuse_everything(task)
        server = served.server
        assert len(flow.errors) > 2 * len(flow.secrets) and len(flow.secrets) >= 14
        listed = json.loads(server.clew("audit", "list", "--limit", "1000", "--json"))
        assert len(listed["events"]) >= 10
        places = {
            "the audit trail": json.dumps(listed),
            "error pages": "\n".join(flow.errors),
            "metrics": "".join(
                flow.client.get(f"{flow.origin}/{path}").text for path in ("metrics", "healthz", "readyz")
            ),
            "arguments": _arguments(server.pid),
            "tokens": json.dumps(flow.client.get("/tokens").json()),
            "standard output": "\n".join(server.said).replace(server.link, ""),
        }
        data = server.data
        flow.client.close()
    places["standard error"] = served.server.log.read_text(errors="replace")
    for path in sorted(data.iterdir()):
        places[path.name] = path.read_bytes().decode("latin-1")
    places["the opened log"] = b"".join(text for _, text in opened_texts(data / "log.db")).decode("latin-1")
    found = [(kind, place) for kind, secret in flow.secrets.items() for place, text in places.items() if secret in text]
    assert found == []
