"""Settings: flags over environment over file over defaults, and every mistake said with its place."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from server.cli.table import plain, print_table
from server.cli.token import read_span
from server.config import SETTINGS, Config, is_local, load
from server.domain.errors import Invalid


@pytest.fixture(autouse=True)
def _nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_every_field_is_a_setting_with_a_variable_and_a_meaning() -> None:
    assert [setting.field for setting in SETTINGS] == [field.name for field in fields(Config)]
    assert all(setting.variable == f"CLEW_{setting.field.upper()}" and setting.meaning for setting in SETTINGS)


def test_nothing_said_gives_the_defaults() -> None:
    loaded = load({}, {})
    assert loaded.config == Config()
    assert set(loaded.origins.values()) == {"default"}


def test_flags_win_over_variables_over_the_file_over_defaults() -> None:
    Path("clew.toml").write_text('port = 1\nhost = "file"\ndurability = "process"\nallow_hosts = ["a", "b"]\n')
    environment = {"CLEW_PORT": "2", "CLEW_HOST": "variable", "CLEW_AGENT": "off", "CLEW_DATA": ""}
    loaded = load({"port": "3", "host": None, "browser": False, "strange": 1}, environment)
    assert loaded.config == Config(
        host="variable", port=3, durability="process", allow_hosts=("a", "b"), agent=False, browser=False
    )
    assert dict(loaded.origins) == {
        "data": "default",
        "host": "CLEW_HOST",
        "port": "--port",
        "durability": "clew.toml",
        "allow_hosts": "clew.toml",
        "tls_cert": "default",
        "tls_key": "default",
        **dict.fromkeys(
            (
                "insecure_lan",
                "trusted_proxies",
                "user_header",
                "oidc_issuer",
                "oidc_client_id",
                "oidc_client_secret",
                "oidc_secret_file",
                "oidc_admit",
                "oidc_name",
            ),
            "default",
        ),
        "address_connections": "default",
        "user_connections": "default",
        "agent": "CLEW_AGENT",
        "browser": "--browser",
    }


@pytest.mark.parametrize(
    ("environment", "written", "said"),
    [
        ({"CLEW_PORT": "65536"}, "", "CLEW_PORT"),
        ({"CLEW_PORT": "-1"}, "", "CLEW_PORT"),
        ({"CLEW_DURABILITY": "some"}, "", "full or process"),
        ({"CLEW_BROWSER": "maybe"}, "", "true or false"),
        ({"CLEW_TLS_CERT": "c.pem"}, "", "belong together"),
        ({}, "port = true", "clew.toml"),
        ({}, "prot = 1", "no setting prot"),
        ({}, "port = ", "cannot be read"),
        ({}, "allow_hosts = 3", "names of hosts"),
    ],
)
def test_a_mistake_is_told_with_its_place(environment: dict[str, str], written: str, said: str) -> None:
    Path("clew.toml").write_text(written)
    with pytest.raises(Invalid, match=said):
        load({}, environment)


def test_only_a_file_that_was_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="no file"):
        load({}, {}, tmp_path / "other.toml")
    (tmp_path / "other.toml").write_text("port = 7\n")
    loaded = load({}, {}, tmp_path / "other.toml")
    assert (loaded.config.port, loaded.origins["port"]) == (7, str(tmp_path / "other.toml"))


def test_local_is_what_only_this_machine_can_reach() -> None:
    assert all(map(is_local, ("127.0.0.1", "127.8.8.8", "::1", "localhost")))
    assert not any(map(is_local, ("0.0.0.0", "::", "192.168.1.2", "example.org")))


def test_spans_are_read_and_nonsense_is_not() -> None:
    assert [read_span(text) for text in ("90s", "15m", "1h", "30d", "60")] == [90, 900, 3600, 2592000, 60]
    for text in ("", "0", "1x", "-1h", "1.5h", "h", "9" * 20):
        with pytest.raises(Invalid):
            read_span(text)


def test_a_stored_name_cannot_drive_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert plain("a\x1b[31mred\u202e\x07\n") == "a\ufffd[31mred\ufffd\ufffd\n"
    assert plain("👩\u200d👧 می\u200cخواهم") == "👩\u200d👧 می\u200cخواهم"
    print_table(("NAME", "N"), [("two\nlines\x1b]0;x\x07", 1), ("日本", None)])
    assert capsys.readouterr().out == "NAME             N\ntwo lines\ufffd]0;x\ufffd  1\n日本             -\n"
