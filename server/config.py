"""What an operator can set, and where each value came from: a flag, ``CLEW_*``, ``clew.toml``, or the default.

Owns the names, the defaults and their reading. Must never be changed after the start.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, Literal, cast

from server.domain.durability import Durability
from server.domain.errors import Invalid

FILE: Final = Path("clew.toml")


@dataclass(frozen=True, slots=True)
class Config:
    """One server's settings."""

    data: Path = Path("clew-data")
    host: str = "127.0.0.1"
    port: int = 8484
    durability: Durability = "full"
    allow_hosts: tuple[str, ...] = ()
    tls_cert: Path | None = None
    tls_key: Path | None = None
    insecure_lan: bool = False
    trusted_proxies: tuple[str, ...] = ()
    user_header: str | None = None
    oidc_issuer: str | None = None
    oidc_client_id: str | None = None
    oidc_client_secret: str | None = field(default=None, repr=False)
    oidc_secret_file: Path | None = None
    oidc_admit: Literal["invited", "all"] = "invited"
    oidc_name: str | None = None
    address_connections: int | None = None
    user_connections: int = 1000
    agent: bool = True
    browser: bool = True


@dataclass(frozen=True, slots=True)
class Setting:
    """One of them: its field, its variable, how its words are read, and what it means. A secret is never shown."""

    field: str
    variable: str
    read: Callable[[Any], object]
    meaning: str
    secret: bool = False


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings, and for each field where its value came from."""

    config: Config
    origins: Mapping[str, str]


def _path(value: Any) -> Path:
    if not isinstance(value, str | Path) or not str(value):
        raise ValueError("a path is wanted")
    return Path(value).expanduser()


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a name is wanted")
    return value.strip()


def _port(value: Any) -> int:
    if isinstance(value, bool) or not str(value).isdigit() or int(value) > 65535:
        raise ValueError("a number from 0 to 65535 is wanted")
    return int(value)


def _count(value: Any) -> int:
    if isinstance(value, bool) or not str(value).isdigit():
        raise ValueError("a number is wanted")
    return int(value)


def _durability(value: Any) -> Durability:
    if value not in ("full", "process"):
        raise ValueError("full or process is wanted")
    return cast(Durability, value)


def _hosts(value: Any) -> tuple[str, ...]:
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise ValueError("names of hosts are wanted")
    return tuple(name.strip() for name in names if name.strip())


def _switch(value: Any) -> bool:
    known = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    if isinstance(value, bool):
        return value
    if str(value).lower() not in known:
        raise ValueError("true or false is wanted")
    return known[str(value).lower()]


def _admit(value: Any) -> str:
    if value not in ("invited", "all"):
        raise ValueError("invited or all is wanted")
    return str(value)


def _header(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9-]{1,64}", value):
        raise ValueError("the name of a header is wanted")
    return value.lower()


SETTINGS: Final = (
    Setting("data", "CLEW_DATA", _path, "the folder that holds everything"),
    Setting("host", "CLEW_HOST", _text, "the address to listen on"),
    Setting("port", "CLEW_PORT", _port, "the port to listen on; 0 takes a free one"),
    Setting("durability", "CLEW_DURABILITY", _durability, "what a receipt survives: full (power loss) or process"),
    Setting("allow_hosts", "CLEW_ALLOW_HOSTS", _hosts, "further names under which it may be reached"),
    Setting("tls_cert", "CLEW_TLS_CERT", _path, "the certificate chain, for HTTPS without a proxy"),
    Setting("tls_key", "CLEW_TLS_KEY", _path, "the certificate's key"),
    Setting("insecure_lan", "CLEW_INSECURE_LAN", _switch, "listen for others without TLS: they can read along"),
    Setting("trusted_proxies", "CLEW_TRUSTED_PROXIES", _hosts, "addresses or networks of proxies whose word is taken"),
    Setting("user_header", "CLEW_USER_HEADER", _header, "the header in which they name who asks"),
    Setting("oidc_issuer", "CLEW_OIDC_ISSUER", _text, "an organisation's OpenID provider to sign in by"),
    Setting("oidc_client_id", "CLEW_OIDC_CLIENT_ID", _text, "what this server is called there"),
    Setting("oidc_client_secret", "CLEW_OIDC_CLIENT_SECRET", _text, "its secret there; never a flag", secret=True),
    Setting("oidc_secret_file", "CLEW_OIDC_SECRET_FILE", _path, "a file that holds that secret"),
    Setting("oidc_admit", "CLEW_OIDC_ADMIT", _admit, "who of its people may become users: invited or all"),
    Setting("oidc_name", "CLEW_OIDC_NAME", _text, "what people know the organisation by"),
    Setting(
        "address_connections", "CLEW_ADDRESS_CONNECTIONS", _count, "strangers' connections from one address; 0: any"
    ),
    Setting(
        "user_connections", "CLEW_USER_CONNECTIONS", _count, "documents that one user may have open, over all devices"
    ),
    Setting("agent", "CLEW_AGENT", _switch, "whether the built-in agent runs"),
    Setting("browser", "CLEW_BROWSER", _switch, "whether to open a browser at the start"),
)


def load(flags: Mapping[str, object], environment: Mapping[str, str], file: Path | None = None) -> Loaded:
    """Flags that are not None over variables over the file over defaults. Raises Invalid, and says what is wrong where.

    ``file`` is ``clew.toml`` in the working folder unless it is named; only a named one must exist.
    """
    written = _read_file(file)
    values: dict[str, Any] = {}
    origins = {one.name: "default" for one in fields(Config)}
    for setting in SETTINGS:
        for origin, value in (
            (f"--{setting.field.replace('_', '-')}", flags.get(setting.field)),
            (setting.variable, environment.get(setting.variable) or None),
            (str(file or FILE), written.get(setting.field)),
        ):
            if value is not None:
                values[setting.field] = _understand(setting, origin, value)
                origins[setting.field] = origin
                break
    config = Config(**values)
    if (config.tls_cert is None) != (config.tls_key is None):
        raise Invalid("A certificate and its key belong together: give both --tls-cert and --tls-key, or neither.")
    if (config.oidc_issuer is None) != (config.oidc_client_id is None):
        raise Invalid("An OpenID provider takes both --oidc-issuer and --oidc-client-id, or neither.")
    if config.user_header is not None and not config.trusted_proxies:
        raise Invalid("A header says who somebody is only from a --trusted-proxy; name its address.")
    return Loaded(config, origins)


def is_local(host: str) -> bool:
    """Whether only this machine can reach that address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _understand(setting: Setting, origin: str, value: object) -> object:
    try:
        return setting.read(value)
    except ValueError as error:
        said = "" if setting.secret else f", not {value!r}"
        raise Invalid(f"{origin}: {error}{said}.") from None


def _read_file(file: Path | None) -> dict[str, Any]:
    try:
        written = tomllib.loads((file or FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        if file is not None:
            raise Invalid(f"There is no file {file}.") from None
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Invalid(f"{file or FILE} cannot be read: {error}.") from None
    known = {setting.field for setting in SETTINGS}
    if strange := sorted(set(written) - known):
        raise Invalid(f"{file or FILE}: there is no setting {strange[0]}; there are {', '.join(sorted(known))}.")
    return written
