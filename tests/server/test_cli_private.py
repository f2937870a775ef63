"""Who serves others does it by TLS, and doctor knows a good certificate; what a login gives is its owner's to read."""

from __future__ import annotations

import socket
import stat
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from server.cli import certificate
from server.cli.agent import _kept
from server.cli.credentials import Credential, credentials_file, find, forget, keep, server_of
from server.cli.serve import require_certificate, require_port, require_private
from server.config import Config, load
from server.domain.errors import Invalid

NOW = datetime(2026, 11, 29, tzinfo=UTC)
DAY = timedelta(days=1)


def test_nobody_is_served_in_the_clear_unasked(capsys: pytest.CaptureFixture[str]) -> None:
    for host in ("0.0.0.0", "192.168.1.20", "::", "clew.home.arpa"):
        with pytest.raises(Invalid, match="--tls-cert.*--trusted-proxy.*--insecure-lan"):
            require_private(Config(host=host))
    for config in (
        Config(),
        Config(host="localhost"),
        Config(host="::1"),
        Config(host="0.0.0.0", tls_cert=Path("c"), tls_key=Path("k")),
        Config(host="0.0.0.0", trusted_proxies=("10.0.0.7",)),
    ):
        require_private(config)
    assert capsys.readouterr().err == ""
    require_private(Config(host="0.0.0.0", insecure_lan=True))
    assert "read along" in capsys.readouterr().err


def test_a_port_that_is_taken_is_named_in_a_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(Invalid, match=f"{port}.*--port N.*PORT=N"):
            require_port(Config(port=port))
    require_port(Config(port=0))


@pytest.mark.parametrize(
    ("host", "why"), [("203.0.113.9", "no address of this machine"), ("no.such.invalid", "the name")]
)
def test_an_address_that_is_not_this_machines_is_told_in_a_sentence(host: str, why: str) -> None:
    with pytest.raises(Invalid, match=why):
        require_port(Config(host=host, port=0))


def test_a_certificate_that_can_not_be_used_is_told_in_a_sentence(tmp_path: Path) -> None:
    nothing, bad = tmp_path / "nothing", tmp_path / "bad.pem"
    bad.write_text("no certificate")
    for path in (nothing, bad):
        with pytest.raises(Invalid, match=f"{path}.*clew doctor"):
            require_certificate(Config(tls_cert=path, tls_key=path))
    require_certificate(Config())


def test_settings_that_belong_together_are_given_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    halves: list[Mapping[str, str]] = [
        {"CLEW_OIDC_ISSUER": "https://id.example.org"},
        {"CLEW_OIDC_CLIENT_ID": "clew"},
        {"CLEW_USER_HEADER": "Remote-User"},
        {"CLEW_OIDC_ADMIT": "everybody"},
    ]
    for environment in halves:
        with pytest.raises(Invalid):
            load({}, environment)
    whole = load({}, {"CLEW_USER_HEADER": "Remote-User", "CLEW_TRUSTED_PROXIES": "10.0.0.7,10.1.0.0/16"}).config
    assert whole.user_header == "remote-user" and whole.trusted_proxies == ("10.0.0.7", "10.1.0.0/16")
    assert "s3cret" not in repr(load({}, {"CLEW_OIDC_CLIENT_SECRET": "s3cret"}).config)


def write(folder: Path, names: list[str], days: tuple[int, int], key: ec.EllipticCurvePrivateKey) -> Path:
    """A certificate for those names, valid from so many days ago to so many days hence; its file."""
    said = [x509.DNSName(n) if n[0].isalpha() or n[0] == "*" else x509.IPAddress(ip_address(n)) for n in names]
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "clew")])
    builder = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(NOW + days[0] * DAY)
        .not_valid_after(NOW + days[1] * DAY)
    )
    if said:
        builder = builder.add_extension(x509.SubjectAlternativeName(said), critical=False)
    file = folder / "cert.pem"
    file.write_bytes(builder.sign(key, SHA256()).public_bytes(Encoding.PEM))
    return file


def test_doctor_tells_a_good_certificate_from_bad_ones(tmp_path: Path) -> None:
    key, other = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    file = tmp_path / "key.pem"
    file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    file.chmod(0o600)

    def marks(names: list[str], days: tuple[int, int], wanted: list[str], by: ec.EllipticCurvePrivateKey = key) -> str:
        said = certificate.examine(write(tmp_path, names, days, by), file, wanted, NOW)
        return " ".join(one.mark for one in said)

    both = ["clew.example.org", "*.home.arpa", "192.168.1.20"]
    assert marks(both, (-1, 60), ["clew.example.org", "phone.home.arpa", "192.168.1.20"]) == "ok ok ok"
    assert marks(both, (-1, 60), ["other.example.org"]) == "ok ok WRONG"
    assert marks(both, (-1, 60), ["a.b.home.arpa"]) == "ok ok WRONG"
    assert marks(both, (-1, 60), []) == "ok ok note"
    assert marks(both, (-1, 10), ["clew.example.org"]) == "ok note ok"
    assert marks(both, (-9, -1), ["clew.example.org"]) == "ok WRONG ok"
    assert marks(both, (1, 9), ["clew.example.org"]) == "ok WRONG ok"
    assert marks([], (-1, 60), ["clew.example.org"]) == "ok ok WRONG"
    assert marks(both, (-1, 60), ["clew.example.org"], other) == "WRONG ok ok"
    file.chmod(0o644)
    assert marks(both, (-1, 60), ["clew.example.org"]) == "ok ok ok WRONG"
    file.write_text("no key")
    assert marks(both, (-1, 60), []) == "WRONG"
    assert [one.mark for one in certificate.examine(tmp_path / "none", file, [], NOW)] == ["WRONG"]


def test_what_a_login_gives_is_kept_for_its_owner_alone_and_found_by_an_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "new" / "credentials.json"
    assert credentials_file({"CLEW_CREDENTIALS": str(file)}) == file
    assert credentials_file({"XDG_CONFIG_HOME": "/x"}) == Path("/x/clew/credentials.json")
    keep(file, "https://a.example", Credential("one", "1", 9.0))
    keep(file, "http://localhost:8484", Credential("two", "2", 9.0, "Ada"))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert [one.name for one in file.parent.iterdir()] == ["credentials.json"]
    assert find(file, "https://a.example") == Credential("one", "1", 9.0)
    monkeypatch.setenv("CLEW_CREDENTIALS", str(file))
    assert _kept(["--server", "http://localhost:8484/", "--model", "x"]) == "two"
    assert _kept(["--server=https://a.example"]) is None  # a person's, and no agent's
    forget(file, "https://a.example")
    assert find(file, "https://a.example") is None and find(file, "http://localhost:8484") is not None


def test_a_bearer_goes_nowhere_in_the_clear() -> None:
    assert server_of("HTTPS://Clew.Example.org/") == "https://clew.example.org"
    assert server_of("http://localhost:8484") == "http://localhost:8484"
    for bad in (
        "clew.example.org",
        "http://192.168.1.20:8484",
        "https://a.example/path",
        "https://me@a.example",
        "ftp://a",
    ):
        with pytest.raises(Invalid):
            server_of(bad)
    assert server_of("http://192.168.1.20:8484", insecure=True) == "http://192.168.1.20:8484"
