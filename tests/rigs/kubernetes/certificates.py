"""An authority and the certificates by which the parts of a Kubernetes control plane know each other."""

from __future__ import annotations

import ipaddress
from base64 import b64encode
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tests.rigs.kubernetes.layout import (
    API_PORT,
    HOST_ADDRESS,
    KUBERNETES_SERVICE,
    NODES_MAX,
    Home,
    node_name,
)

LIFE = timedelta(days=3650)
BACKDATED = timedelta(hours=1)
NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
ADDRESSES = ("127.0.0.1", HOST_ADDRESS, KUBERNETES_SERVICE)
INSIDE = f"https://{HOST_ADDRESS}:{API_PORT}"


@dataclass(frozen=True, slots=True)
class _Client:
    """Kubernetes takes the common name for the user and the organization for a group."""

    name: str
    user: str
    group: str = ""


CLIENTS = (
    _Client("admin", "admin", "system:masters"),
    _Client("apiserver-kubelet", "apiserver-kubelet-client", "system:masters"),
    _Client("controller-manager", "system:kube-controller-manager"),
    _Client("scheduler", "system:kube-scheduler"),
    _Client("proxy", "system:kube-proxy"),
    *(_Client(node_name(i), f"system:node:{node_name(i)}", "system:nodes") for i in range(1, NODES_MAX + 1)),
)


def prepare(home: Home) -> None:
    """Make all of them, once; the last file says that nothing is missing."""
    done = home.pki / "done"
    if done.exists():
        return
    home.pki.mkdir(mode=0o700, parents=True, exist_ok=True)
    authority = _authority(home.pki)
    accounts = _key(home.pki / "service-accounts.key")
    public = accounts.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    (home.pki / "service-accounts.pub").write_bytes(public)
    names: list[x509.GeneralName] = [x509.DNSName(name) for name in NAMES]
    names += [x509.IPAddress(ipaddress.ip_address(address)) for address in ADDRESSES]
    _issue(home.pki, authority, "apiserver", _subject("kube-apiserver"), x509.SubjectAlternativeName(names))
    for client in CLIENTS:
        _issue(home.pki, authority, client.name, _subject(client.user, client.group), None)
    for name in ("admin", "controller-manager", "scheduler"):
        write_kubeconfig(home, name, f"https://127.0.0.1:{home.api_port}")
    write_kubeconfig(home, "proxy", INSIDE)
    done.touch()


def write_kubeconfig(home: Home, client: str, server: str) -> Path:
    """``CLIENT.conf`` in the cluster's folder."""

    def embedded(path: Path) -> str:
        return b64encode(path.read_bytes()).decode()

    pki = home.pki
    keys = {
        "client-certificate-data": embedded(pki / f"{client}.crt"),
        "client-key-data": embedded(pki / f"{client}.key"),
    }
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "rig",
        "clusters": [
            {"name": "rig", "cluster": {"server": server, "certificate-authority-data": embedded(pki / "ca.crt")}}
        ],
        "users": [{"name": client, "user": keys}],
        "contexts": [{"name": "rig", "context": {"cluster": "rig", "user": client}}],
    }
    path = home.path / f"{client}.conf"
    path.touch(mode=0o600)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(config)))
    return path


@dataclass(frozen=True, slots=True)
class _Authority:
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


def _authority(folder: Path) -> _Authority:
    key = _key(folder / "ca.key")
    name = _subject("yodel-rig-ca")
    certificate = (
        _builder(name, name, key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_usage(is_authority=True), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "ca.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return _Authority(certificate, key)


def _issue(
    folder: Path, authority: _Authority, name: str, subject: x509.Name, names: x509.SubjectAlternativeName | None
) -> None:
    """For a server when it has names, else for a client."""
    key = _key(folder / f"{name}.key")
    use = ExtendedKeyUsageOID.CLIENT_AUTH if names is None else ExtendedKeyUsageOID.SERVER_AUTH
    builder = (
        _builder(subject, authority.certificate.subject, key)
        .add_extension(_usage(is_authority=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([use]), critical=False)
    )
    if names is not None:
        builder = builder.add_extension(names, critical=False)
    certificate = builder.sign(authority.key, hashes.SHA256())
    (folder / f"{name}.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))


def _subject(user: str, group: str = "") -> x509.Name:
    organization = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group)] if group else []
    return x509.Name([*organization, x509.NameAttribute(NameOID.COMMON_NAME, user)])


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATED)
        .not_valid_after(now + LIFE)
    )


def _usage(*, is_authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        encipher_only=False,
        decipher_only=False,
    )


def _key(path: Path) -> ec.EllipticCurvePrivateKey:
    key = ec.generate_private_key(ec.SECP256R1())
    path.touch(mode=0o600)
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    )
    return key
