"""The credentials of a local cluster: a certificate authority of its own, a server certificate and a bearer token.

HTTPS because kubectl sends a bearer token over nothing else.  Everything is made once in the data directory, mode 0600,
and used again at the next start; the server's certificate is renewed when it runs out or its addresses change.
"""

from __future__ import annotations

import ipaddress
import os
import secrets
from base64 import b64encode
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_LIFE = timedelta(days=3650)
SERVER_LIFE = timedelta(days=825)
RENEW_BEFORE = timedelta(days=30)
BACKDATED = timedelta(hours=1)  # clocks of clients may be a little behind


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiCredentials:
    """Paths of PEM files, and the token of the one user (``system:masters`` in a real cluster's words)."""

    ca_certificate: Path
    tls_certificate: Path
    tls_key: Path
    token: str = field(repr=False)


def prepare_credentials(data_dir: Path, *, hosts: tuple[str, ...] = ("127.0.0.1", "localhost")) -> ApiCredentials:
    """Make what is missing in ``data_dir/credentials`` and return all of it."""
    directory = data_dir / "credentials"
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    paths = {name: directory / name for name in ("ca.crt", "ca.key", "server.crt", "server.key", "token", "hosts")}
    now = datetime.now(UTC)
    if not paths["ca.key"].exists() or _ends(paths["ca.crt"]) < now + RENEW_BEFORE:
        _make_authority(paths["ca.crt"], paths["ca.key"], now)
        paths["server.crt"].unlink(missing_ok=True)
    wanted = "\n".join(hosts)
    same_hosts = paths["hosts"].exists() and paths["hosts"].read_text() == wanted
    if not paths["server.key"].exists() or not same_hosts or _ends(paths["server.crt"]) < now + RENEW_BEFORE:
        _make_server(paths, hosts, now)
        _write_private(paths["hosts"], wanted.encode())
    if not paths["token"].exists():
        _write_private(paths["token"], secrets.token_urlsafe(32).encode())
    return ApiCredentials(
        ca_certificate=paths["ca.crt"],
        tls_certificate=paths["server.crt"],
        tls_key=paths["server.key"],
        token=paths["token"].read_text().strip(),
    )


def write_kubeconfig(
    path: Path, *, server: str, ca_certificate: Path, token: str, name: str = "yodel", namespace: str = "default"
) -> None:
    """A kubeconfig (mode 0600, JSON, which is YAML) with the authority embedded; ``server`` is the base URL."""
    authority = b64encode(ca_certificate.read_bytes()).decode()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": server, "certificate-authority-data": authority}}],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": namespace}}],
        "current-context": name,
    }
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _write_private(path, msgspec.json.format(msgspec.json.encode(config), indent=2) + b"\n")


def _ends(path: Path) -> datetime:
    if not path.exists():
        return datetime.min.replace(tzinfo=UTC)
    return x509.load_pem_x509_certificate(path.read_bytes()).not_valid_after_utc


def _make_authority(certificate_path: Path, key_path: Path, now: datetime) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "yodel-local-ca")])
    builder = _builder(name, name, key.public_key(), now, AUTHORITY_LIFE)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_key_usage(signs_certificates=True), critical=True)
    builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    certificate = builder.sign(key, hashes.SHA256())
    _write_private(key_path, _pem(key))
    _write_private(certificate_path, certificate.public_bytes(serialization.Encoding.PEM))


def _make_server(paths: dict[str, Path], hosts: tuple[str, ...], now: datetime) -> None:
    authority = x509.load_pem_x509_certificate(paths["ca.crt"].read_bytes())
    authority_key = serialization.load_pem_private_key(paths["ca.key"].read_bytes(), None)
    assert isinstance(authority_key, ec.EllipticCurvePrivateKey)
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "yodel-local")])
    builder = _builder(name, authority.subject, key.public_key(), now, SERVER_LIFE)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_key_usage(signs_certificates=False), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    builder = builder.add_extension(
        x509.SubjectAlternativeName([_general_name(host) for host in hosts]), critical=False
    )
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key())
    builder = builder.add_extension(issuer, critical=False)
    builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    certificate = builder.sign(authority_key, hashes.SHA256())
    _write_private(paths["server.key"], _pem(key))
    _write_private(paths["server.crt"], certificate.public_bytes(serialization.Encoding.PEM))


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime, life: timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATED)
        .not_valid_after(now + life)
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _write_private(path: Path, content: bytes) -> None:
    """Atomically, readable for the owner only."""
    temporary = path.with_name(path.name + ".new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as out:
        os.fchmod(out.fileno(), 0o600)
        out.write(content)
    temporary.replace(path)
