"""The services that models are reached at.

Owns the clients. Must never repeat a request by itself (``exchange`` does, and counts), follow a service to another
address, or hand anything to telemetry.
"""

from __future__ import annotations

import ipaddress
from typing import Final
from urllib.parse import urlsplit

import httpx2
from pydantic_ai.models import Model
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.settings import ModelSettings

from agent.models.engine import Engine
from agent.models.limits import Limits

_NO_KEY: Final = "none"
"""What the clients send where no key is needed, for they insist on one."""
_OWN: Final = "api.openai.com"


def client(limits: Limits, address: str) -> httpx2.AsyncClient:
    """The connections to one service. Proxies of the environment are used, except to this machine itself.

    Within this machine no certificates are loaded where none is ever asked for: that takes longer than all the rest.
    """
    inside = _is_loopback(address)
    silence = max(limits.first_token, limits.between_tokens) + limits.connect
    timeout = httpx2.Timeout(silence, connect=limits.connect)
    return httpx2.AsyncClient(
        timeout=timeout,
        trust_env=not inside,
        verify=not (inside and address.startswith("http:")),
        follow_redirects=False,
    )


def engine(provider: str, name: str, address: str, key: str, http: httpx2.AsyncClient) -> Engine:
    """The model at the service; nothing is sent yet."""
    if provider == "anthropic":
        return _anthropic(name, address, key, http)
    model = _openai(provider, name, address, key, http)
    return Engine(model, ModelSettings(), native_forms=bool(model.profile.get("supports_json_schema_output")))


def local_engine(name: str, address: str, key: str, window: int, http: httpx2.AsyncClient) -> Engine:
    """The model that ``local`` runs. Always the likeliest word, so that the same question gets the same answer."""
    model = _openai("openai", name, address, key, http)
    return Engine(model, ModelSettings(temperature=0.0), native_forms=True, small=True, window=window)


def _openai(provider: str, name: str, address: str, key: str, http: httpx2.AsyncClient) -> Model:
    from openai import AsyncOpenAI
    from pydantic_ai.models.ollama import OllamaModel
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.ollama import OllamaProvider
    from pydantic_ai.providers.openai import OpenAIProvider

    sdk = AsyncOpenAI(base_url=address, api_key=key or _NO_KEY, http_client=http, timeout=http.timeout, max_retries=0)
    profile = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)
    if provider == "ollama":
        return OllamaModel(name, provider=OllamaProvider(openai_client=sdk), profile=profile)
    if urlsplit(address).hostname != _OWN:
        # What else speaks this wire knows the older name of the bound, and seldom the newer.
        profile["openai_chat_supports_max_completion_tokens"] = False
    return OpenAIChatModel(name, provider=OpenAIProvider(openai_client=sdk), profile=profile)


def _anthropic(name: str, address: str, key: str, http: httpx2.AsyncClient) -> Engine:
    from anthropic import AsyncAnthropic
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    sdk = AsyncAnthropic(
        base_url=address, api_key=key or _NO_KEY, http_client=http, timeout=http.timeout, max_retries=0
    )
    model = AnthropicModel(name, provider=AnthropicProvider(anthropic_client=sdk))
    native = bool(model.profile.get("supports_json_schema_output"))
    return Engine(model, ModelSettings(), native_forms=native, caches=True)


def _is_loopback(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
