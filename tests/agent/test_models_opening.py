"""From a spec to a mind: what is refused with a sentence, what is never reached or told."""

from __future__ import annotations

import importlib.util
import socket
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from kit.briefs import Murmur, brief, thoughts_of
from kit.model_script import KEY, Answer, Form
from kit.openai_wire import openai_wire
from opentelemetry import metrics, trace

from agent.mind import Said
from agent.models import Limits, MissingExtra, UnknownModel, open_mind

SECRET = "pa55word"


def refusal(spec: str, environ: Mapping[str, str] | None = None) -> str:
    with pytest.raises((UnknownModel, MissingExtra)) as caught:
        open_mind(spec, Murmur(()), environ=environ or {})
    assert caught.value.__cause__ is None and caught.value.__suppress_context__ | (caught.value.__context__ is None)
    return str(caught.value)


@pytest.mark.parametrize("spec", ["", "gpt-5", "openai:", "openai: ", "mystery:x", ":x", KEY])
def test_a_spec_that_names_no_model_is_refused_with_what_to_write(spec: str) -> None:
    assert refusal(spec) == "A model is named openai:NAME, anthropic:NAME, ollama:NAME or local:/path/to/model.gguf."


def test_a_service_without_its_key_says_what_to_set() -> None:
    assert refusal("openai:gpt-5") == "Set CLEW_MODEL_KEY or OPENAI_API_KEY to the key of the model's service."
    assert "ANTHROPIC_API_KEY" in refusal("anthropic:claude-haiku-5-5", {"OPENAI_API_KEY": KEY})


@pytest.mark.parametrize(
    "address",
    [f"https://user:{SECRET}@host/v1", f"https://{SECRET}@host/v1", f"http://host/v1?key={SECRET}", "host/v1",
     f"ftp://{SECRET}/", "http://", "http://host:99999999/", f"http://[{SECRET}/"],
)  # fmt: skip
def test_an_address_that_is_none_or_holds_a_secret_is_refused_and_not_told(address: str) -> None:
    why = refusal("openai:gpt-5", {"CLEW_MODEL_URL": address, "CLEW_MODEL_KEY": KEY})
    assert "CLEW_MODEL_URL" in why
    assert SECRET not in why and KEY not in why


def test_a_part_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(b"GGUF....")
    find = importlib.util.find_spec
    for module, spec, extra in (
        ("pydantic_ai", "ollama:qwen3", "clew[models]"),
        ("openai", "ollama:qwen3", "clew[models]"),
        ("anthropic", "anthropic:claude-haiku-5-5", "clew[models]"),
        ("xllamacpp", f"local:{tmp_path / 'm.gguf'}", "clew[local]"),
    ):
        monkeypatch.setattr(importlib.util, "find_spec", lambda name, gone=module: None if name == gone else find(name))
        assert extra in refusal(spec)


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(b"PK")
    assert refusal(f"local:{tmp_path / 'm.gguf'}") == "m.gguf is not a GGUF file."
    assert "path of a GGUF file" in refusal(f"local:{tmp_path / 'none.gguf'}")
    assert "path of a GGUF file" in refusal(f"local:{tmp_path}")


def test_nothing_heavy_is_imported_before_a_mind_is_opened() -> None:
    import subprocess

    heavy = "print([m for m in ('pydantic_ai', 'openai', 'anthropic', 'xllamacpp') if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys, agent.models; {heavy}"], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


@pytest.fixture
def reached(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Hosts that are looked up, and addresses that sockets connect to."""
    found: list[Any] = []
    look_up, connect = socket.getaddrinfo, socket.socket.connect

    def spy_look_up(host: Any, *args: Any, **more: Any) -> Any:
        found.append(host)
        return look_up(host, *args, **more)

    def spy_connect(self: socket.socket, address: Any) -> Any:
        found.append(address)
        return connect(self, address)

    monkeypatch.setattr(socket, "getaddrinfo", spy_look_up)
    monkeypatch.setattr(socket.socket, "connect", spy_connect)
    yield found


@pytest.mark.parametrize("spec", ["openai:gpt-5", "anthropic:claude-haiku-5-5", "ollama:qwen3"])
async def test_opening_reaches_nothing(spec: str, reached: list[Any]) -> None:
    async with open_mind(spec, Murmur(()), environ={"CLEW_MODEL_KEY": KEY}) as mind:
        assert mind.name == spec
    assert reached == []


class Watched(trace.NoOpTracerProvider):
    def __init__(self, seen: list[str]) -> None:
        self._seen = seen

    def get_tracer(self, *args: Any, **more: Any) -> trace.Tracer:
        self._seen.append(str(args))
        return super().get_tracer(*args, **more)


async def test_a_turn_reaches_its_service_alone_and_tells_telemetry_nothing(
    reached: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: Watched(seen))
    monkeypatch.setattr(metrics, "get_meter_provider", lambda: seen.append("meter"))
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.invalid:1")
    async with openai_wire() as wire:
        wire.steps[:] = [Answer(("Yes.",)), Form({"entries": [], "name": "", "narrative": ""})]
        environ = {"CLEW_MODEL_URL": wire.url, "CLEW_MODEL_KEY": KEY}
        async with open_mind("ollama:qwen3", Murmur(()), limits=Limits(turn=20), environ=environ) as mind:
            assert Said("Yes.") in await thoughts_of(mind, brief("Well?"))
        assert wire.faults == []
    hosts = {address if isinstance(address, str) else address[0] for address in reached}
    assert hosts == {"127.0.0.1"}
    assert seen == []


async def test_a_services_own_key_is_not_sent_to_another_address() -> None:
    async with openai_wire() as wire:
        environ = {"CLEW_MODEL_URL": wire.url, "OPENAI_API_KEY": KEY}
        async with open_mind("openai:gpt-5", Murmur(()), limits=Limits(retries=0), environ=environ) as mind:
            await thoughts_of(mind, brief("Well?"))
        assert wire.faults == ["the key"]


async def test_a_name_that_looks_like_a_key_is_not_shown() -> None:
    async with open_mind(f"ollama:{KEY}", Murmur(()), environ={}) as mind:
        assert KEY not in mind.name + repr(mind)
