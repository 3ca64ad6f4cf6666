"""An authority and the certificates by which the parts of a Kubernetes control plane know each other."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path

import msgspec
import trustme

from tests.rigs.kubernetes.layout import (
    API_PORT,
    HOST_ADDRESS,
    KUBERNETES_SERVICE,
    NODES_MAX,
    Home,
    node_name,
)

OWN_GROUP = "yodel-rig"
"""The group of the authority, and of users that need no group."""
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
    done = home.pki / "complete"
    if done.exists():
        return
    home.pki.mkdir(mode=0o700, parents=True, exist_ok=True)
    authority = trustme.CA(organization_name=OWN_GROUP)
    authority.cert_pem.write_to_path(home.pki / "ca.crt")
    _keep(home.pki, "apiserver", authority.issue_cert(*NAMES, *ADDRESSES, common_name="kube-apiserver"))
    _keep(home.pki, "service-accounts", authority.issue_cert("service-accounts"))
    for client in CLIENTS:
        # A name of its own too: Kubernetes takes no certificate without one from this authority.
        made = authority.issue_cert(client.name, common_name=client.user, organization_name=client.group or OWN_GROUP)
        _keep(home.pki, client.name, made)
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


def _keep(folder: Path, name: str, made: trustme.LeafCert) -> None:
    (folder / f"{name}.key").touch(mode=0o600)
    made.private_key_pem.write_to_path(folder / f"{name}.key")
    made.cert_chain_pems[0].write_to_path(folder / f"{name}.crt")
