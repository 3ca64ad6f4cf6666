"""Yodel installed into a cluster by its chart, as docs/kubernetes.md tells users to.

On the rig: three nodes that share one file system, so every node agent has folders of its own; no names of Services, so
addresses are given; no provisioner, so there is a volume; colocation resources, which nobody publishes there, so they
are published here.  The release's namespace enforces the Pod Security level ``restricted``.

On a cluster of somebody's own: what a values file says, and nothing more than users.  A namespace that is already there
and not the rig's is left alone.
"""

from __future__ import annotations

import json
import os
import pwd
import secrets
import shutil
import tempfile
import time
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.rigs.kubernetes import readiness
from tests.rigs.kubernetes.daemons import pause
from tests.rigs.kubernetes.images import POSTGRES_USER
from tests.rigs.kubernetes.readiness import READY_TIMEOUT_S, Say, diagnosis
from tests.rigs.kubernetes.release_values import LOCAL_FILES, ROOT, Account, Target, Values, values
from tests.rigs.kubernetes.tools import InstallFailed, Tools, run
from tests.support.hadoop_conf import write_files

CHART = ROOT / "deploy" / "helm" / "yodel"
HERE = Path(__file__).resolve().parent
BEFORE = HERE / "before.yaml"
RELEASE = "yodel"
NAMESPACE = "yodel"
SELECTOR = f"app.kubernetes.io/instance={RELEASE}"
RIG_LABEL = "yodel.io/rig"
DATABASE_ADDRESS = "10.96.0.54"
DATABASE_SECRET = "yodel-database"
USERS = ("yodel-alice", "yodel-bob")
COMMAND_TIMEOUT_S = 60.0
GONE_TIMEOUT_S = 120
CALL_TIMEOUT_S = 5.0
LOOK_EVERY_S = 0.5
MIB = 1024 * 1024
NODE_MILLI = 8000
NODE_MIB = 6144
COLOCATION = {
    "kubernetes.io/batch-cpu": NODE_MILLI,
    "kubernetes.io/batch-memory": NODE_MIB * MIB,
    "resource.katalyst.kubewharf.io/reclaimed_millicpu": NODE_MILLI,
    "resource.katalyst.kubewharf.io/reclaimed_memory": NODE_MIB * MIB,
}
"""The amounts that Koordinator, Volcano and Katalyst would publish of a node: milli cores and bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """A release that is ready, and how its clients find it."""

    kubeconfig: Path
    namespace: str
    container_namespace: str
    release: str
    address: str
    rest_url: str
    conf_dir: Path
    users: Sequence[Account]
    nodes: Sequence[str]


def install(target: Target, say: Say = lambda line: None) -> Installed:
    """Install or upgrade, and wait until the ResourceManager and all node agents are ready.

    Raises InstallFailed with what to look at.
    """
    users = accounts()
    tools = _tools(target)
    _refuse_foreign_namespace(tools)
    tools.apply(_chart_definitions())
    if target.own_values is None:
        _prepare_rig(tools, target.folder)
    else:
        tools.apply(_own_namespace())
    chosen = values(target, users)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "values.yaml")
        file.write_text(json.dumps(chosen))
        tools.helm("upgrade", "--install", RELEASE, str(CHART), "--values", str(file))
    say(f"the chart is installed in {NAMESPACE}")
    namespaces = (NAMESPACE, chosen["containers"].get("namespace") or NAMESPACE)
    readiness.wait(tools, namespaces, SELECTOR, say)
    installed = _client(tools, target, chosen, users)
    _wait_for_nodes(tools, installed, say)
    return installed


def uninstall(target: Target, say: Say = lambda line: None) -> None:
    """Remove the release, its namespaces and what was made before it.  The definitions of custom objects stay."""
    tools = _tools(target)
    _refuse_foreign_namespace(tools)
    agents = tools.get("daemonsets", selector=SELECTOR)["items"]
    namespaces = {NAMESPACE, *(agent["metadata"]["namespace"] for agent in agents)}
    tools.helm("uninstall", RELEASE, "--ignore-not-found")
    tools.kubectl("delete", "namespace", *sorted(namespaces), "--ignore-not-found", f"--timeout={GONE_TIMEOUT_S}s")
    tools.kubectl("delete", "persistentvolume", "--selector", f"{RIG_LABEL}=true")
    shutil.rmtree(target.folder, ignore_errors=True)
    say(f"{RELEASE} is uninstalled")


def accounts(names: Sequence[str] = USERS) -> list[Account]:
    """Users of this machine, made when they are not there and we are root: HDFS asks the machine for their groups."""
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    for name in names:
        if name not in known:
            command = ["useradd", "--create-home", "--user-group", "--shell", "/bin/bash", name]
            run(command, timeout_s=COMMAND_TIMEOUT_S)
    found = map(pwd.getpwnam, names)
    return [Account(name=entry.pw_name, uid=entry.pw_uid, gid=entry.pw_gid) for entry in found]


# --- what the chart expects to find


def publish(tools: Tools, node: str, amounts: Mapping[str, int]) -> None:
    """Publish extended resources in the node's status, as an engine's agent does.  The kubelet leaves them alone."""
    path = f"/api/v1/nodes/{node}"
    found = json.loads(tools.kubectl("get", "--raw", path))
    for name in ("resourceVersion", "managedFields"):  # whatever the kubelet wrote since
        found["metadata"].pop(name, None)
    for known in (found["status"]["capacity"], found["status"]["allocatable"]):
        known |= {name: str(amount) for name, amount in amounts.items()}
    tools.kubectl("replace", "--raw", f"{path}/status", "--filename", "-", given=json.dumps(found))


def _refuse_foreign_namespace(tools: Tools) -> None:
    found = tools.get("namespace", NAMESPACE)
    if found and found["metadata"].get("labels", {}).get(RIG_LABEL) != "true":
        raise InstallFailed(f"there is a namespace {NAMESPACE} that the rig did not make (no label {RIG_LABEL})")


def _prepare_rig(tools: Tools, folder: Path) -> None:
    database = folder / "postgres"
    database.mkdir(parents=True, exist_ok=True)
    os.chown(database, POSTGRES_USER, POSTGRES_USER)
    database.chmod(0o700)
    tools.apply(BEFORE.read_text().replace("FOLDER", str(folder)))
    for path in sorted((HERE / "crds").glob("*.yaml")):
        tools.apply(path.read_text())
    if tools.get("secret", DATABASE_SECRET, NAMESPACE) is None:
        tools.apply(_database_secret(secrets.token_urlsafe(24)))
    for node in tools.get("nodes")["items"]:
        if not COLOCATION.keys() <= node["status"]["allocatable"].keys():
            publish(tools, node["metadata"]["name"], COLOCATION)


def _database_secret(password: str) -> str:
    url = f"postgresql+asyncpg://yodel:{password}@{DATABASE_ADDRESS}:5432/yodel"
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": DATABASE_SECRET, "namespace": NAMESPACE},
            "stringData": {"url": url, "password": password},
        }
    )


def _own_namespace() -> str:
    """The release's, of the rig's first document."""
    return json.dumps(next(yaml.safe_load_all(BEFORE.read_text())))


def _chart_definitions() -> str:
    """Helm installs them once and never renews them."""
    return "\n---\n".join(path.read_text() for path in sorted((CHART / "crds").glob("*.yaml")))


# --- clients


def _client(tools: Tools, target: Target, chosen: Values, users: Sequence[Account]) -> Installed:
    nodes = tools.get("nodes")["items"]
    service = tools.get("service", f"{RELEASE}-external", NAMESPACE)
    if service is None:
        raise InstallFailed("clients are outside the cluster: external.type has to be NodePort or LoadBalancer")
    address, ports = endpoint(service, target.address or _address(nodes[0]))
    conf_dir = target.folder / "client-conf"
    _write_client_conf(tools, conf_dir, address, ports, chosen.get("hadoop", {}))
    return Installed(
        kubeconfig=target.kubeconfig,
        namespace=NAMESPACE,
        container_namespace=chosen["containers"].get("namespace") or NAMESPACE,
        release=RELEASE,
        address=address,
        rest_url=f"http://{address}:{ports['webapp']}",
        conf_dir=conf_dir,
        users=users,
        nodes=[node["metadata"]["name"] for node in nodes],
    )


def endpoint(service: Mapping[str, Any], node_address: str) -> tuple[str, dict[str, int]]:
    """Return where the Service is reached from outside, and its ports by name."""
    ports = service["spec"]["ports"]
    if service["spec"]["type"] == "LoadBalancer":
        given = service.get("status", {}).get("loadBalancer", {}).get("ingress") or [{}]
        return given[0].get("ip") or given[0].get("hostname") or node_address, {p["name"]: p["port"] for p in ports}
    return node_address, {port["name"]: port["nodePort"] for port in ports}


def _address(node: Mapping[str, Any]) -> str:
    found: str = next(one["address"] for one in node["status"]["addresses"] if one["type"] == "InternalIP")
    return found


def _write_client_conf(
    tools: Tools, folder: Path, address: str, ports: Mapping[str, int], hadoop: Mapping[str, Any]
) -> None:
    """Write the configuration by ``yodel client-config``, with the limits of the release's own settings."""
    settings = tools.get("configmap", f"{RELEASE}-rm", NAMESPACE)["data"]["rm.toml"]
    options = [f"--{name}-port={port}" for name, port in ports.items()]
    options += [f"--property={text}" for text in hadoop.get("properties", [])]
    if hadoop.get("remoteAppLogDir"):
        options.append(f"--remote-app-log-dir={hadoop['remoteAppLogDir']}")
    options.append(f"--default-fs={hadoop.get('defaultFs', LOCAL_FILES)}")
    write_files(folder, {}, "INFO")
    with tempfile.TemporaryDirectory() as work:
        config = Path(work, "rm.toml")
        config.write_text(settings)
        program = [str(ROOT / ".venv" / "bin" / "yodel"), "client-config", f"--config={config}", f"--host={address}"]
        run([*program, *options, f"--dir={folder}"], _without_settings(), timeout_s=COMMAND_TIMEOUT_S)


def _without_settings() -> dict[str, str]:
    """Variables that Yodel would take for settings are the tests' own."""
    return {name: value for name, value in os.environ.items() if not name.startswith("YODEL_")}


def _wait_for_nodes(tools: Tools, installed: Installed, say: Say) -> None:
    """A node agent that is ready may not have registered yet."""
    agents = tools.get("daemonset", f"{RELEASE}-node-agent", installed.container_namespace)
    count = agents["status"]["desiredNumberScheduled"]
    give_up_at = time.monotonic() + READY_TIMEOUT_S
    while (running := _running_nodes(installed.rest_url)) < count:
        if time.monotonic() > give_up_at:
            look = diagnosis(tools, (installed.namespace, installed.container_namespace))
            raise InstallFailed(f"{running} of {count} nodes at {installed.rest_url}\n{look}")
        pause(LOOK_EVERY_S)
    say(f"{count} nodes at {installed.rest_url}")


def _running_nodes(url: str) -> int:
    try:
        with urllib.request.urlopen(f"{url}/ws/v1/cluster/metrics", timeout=CALL_TIMEOUT_S) as answer:
            return int(json.load(answer)["clusterMetrics"]["activeNodes"])
    except (OSError, ValueError):
        return 0


def _tools(target: Target) -> Tools:
    return Tools(
        kubeconfig=target.kubeconfig,
        kubectl_program=target.kubectl,
        helm_program=target.helm,
        namespace=NAMESPACE,
    )
