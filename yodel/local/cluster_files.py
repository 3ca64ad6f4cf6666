"""The folders and configuration files of a local cluster: each program is configured as it is in production, by a file.

Secrets are in files of mode 0600 in folders of mode 0700.  What containers of other users pass through or read is open
to them and holds no secret.
"""

from __future__ import annotations

import getpass
import json
import os
import secrets
import shutil
import sys
from pathlib import Path
from typing import Any

from yodel.errors import InvalidValue
from yodel.local.atomic_file import write_atomically
from yodel.local.auth import prepare_credentials, write_kubeconfig
from yodel.local.client_config import write_hadoop_conf
from yodel.local.options import LocalOptions
from yodel.local.port_choice import HOST, ClusterPorts, NodePorts
from yodel.translator.client_config import ClientConfig, client_files
from yodel.translator.dialects import DIALECTS

NODE_EXPIRY_S = 30.0
"""A dead node is noticed sooner than in production: somebody is watching."""
POD_STOP_GRACE_S = 2.0
"""At Ctrl-C: what has not ended by then is killed."""
ADMIN_TOKEN = "admin-token"
"""Lets ``yodel local`` itself ask the ResourceManager, whoever else it lets in."""
OWN_CLASSES = {"am": -100, "task": -200}
"""Priorities of the chart's PriorityClasses, by what they are for."""
ENGINES_PRIORITY = 5000
"""The least of Koordinator's ``koord-batch``."""


def make_directories(directory: Path) -> None:
    """Raises InvalidValue when ``directory`` cannot be one of ours."""
    try:
        _make_root(directory)
        for name, mode in (("logs", 0o700), ("rm", 0o700), ("kube", 0o700), ("nodes", 0o755), ("handover", 0o755)):
            (directory / name).mkdir(exist_ok=True)
            (directory / name).chmod(mode)
        for token in (directory / "node-token", directory / ADMIN_TOKEN):
            if not token.exists():
                write_atomically(token, secrets.token_hex(32) + "\n", 0o600)
    except OSError as error:
        expected = f"a directory that {getpass.getuser()} can make and write ({error.strerror})"
        raise InvalidValue("--dir", str(directory), expected) from error


def admin_header(directory: Path) -> dict[str, str]:
    """Return what proves to the ResourceManager that its ``yodel local`` asks.  Raises OSError."""
    return {"Authorization": f"Bearer {(directory / ADMIN_TOKEN).read_text().strip()}"}


def write_configuration(options: LocalOptions, ports: ClusterPorts) -> None:
    """Write every program's file, the kubeconfig, and Hadoop's client configuration; all anew at each start."""
    directory = options.directory
    credentials = prepare_credentials(directory / "kube")
    write_kubeconfig(
        directory / "kubeconfig",
        server=f"https://{HOST}:{ports.kube}",
        ca_certificate=credentials.ca_certificate,
        token=credentials.token,
        name="yodel-local",
    )
    write_hadoop_conf(
        directory / "hadoop-conf",
        client_files(
            ClientConfig(
                host=HOST,
                client_port=ports.client,
                scheduler_port=ports.scheduler,
                tracker_port=ports.tracker,
                admin_port=ports.admin,
                webapp_port=ports.webapp,
                maximum_mib=options.memory_mib,
                maximum_vcores=options.vcores,
                minimum_mib=options.minimum_allocation_mib,
                remote_app_log_dir=remote_app_log_dir(directory),
            )
        ),
    )
    _write_toml(rm_file(directory), rm_settings(options, ports))
    write_atomically(kube_file(directory), json.dumps(kube_settings(options, ports), indent=2) + "\n", 0o600)
    for node in ports.nodes:
        agent_file(directory, node.name).parent.mkdir(exist_ok=True)
        _write_toml(agent_file(directory, node.name), agent_settings(options, ports, node))


def rm_file(directory: Path) -> Path:
    return directory / "rm" / "rm.toml"


def kube_file(directory: Path) -> Path:
    return directory / "kube" / "kube.json"


def agent_file(directory: Path, node: str) -> Path:
    return directory / "nodes" / node / "nm.toml"


def rm_settings(options: LocalOptions, ports: ClusterPorts) -> dict[str, Any]:
    """Fields of yodel.settings.rm.Settings, by their names in TOML."""
    directory = options.directory
    classes = {f"queue_defaults.priority_class_{role}": f"yodel-{role}" for role in OWN_CLASSES}
    return {
        "store_url": f"sqlite+aiosqlite:///{directory / 'rm' / 'rm.db'}",
        "kubeconfig": str(directory / "kubeconfig"),
        "cluster_name": "local",
        "bind_host": HOST,
        "host": HOST,
        "client_port": ports.client,
        "scheduler_port": ports.scheduler,
        "tracker_port": ports.tracker,
        "admin_port": ports.admin,
        "webapp_port": ports.webapp,
        "minimum_allocation_mib": options.minimum_allocation_mib,
        "maximum_allocation_mib": options.memory_mib,
        "maximum_allocation_vcores": options.vcores,
        "dialect": options.dialect,
        "milli_per_vcore": options.milli_per_vcore,
        "handover_dir": str(directory / "handover"),
        "host_paths": [str(directory / "nodes")],
        "allowed_system_users": [getpass.getuser()],
        "node_token_file": str(directory / "node-token"),
        "node_expiry_s": NODE_EXPIRY_S,
        # On one's own machine a plain curl is its owner, as a plain spark-submit is.
        "http_static_user": getpass.getuser(),
        "http_static_user_may_write": True,
        "web.admin_token_file": str(directory / ADMIN_TOKEN),
        "web.log_dir": str(directory / "logs"),
        "pod_creates_per_second": 500.0,
        "log_aggregation_enable": True,
        **(classes if options.colocation is not None else {}),
    }


def kube_settings(options: LocalOptions, ports: ClusterPorts) -> dict[str, Any]:
    """Return the settings of ``yodel local-kubernetes``.  Batch amounts are fixed only if none are measured."""
    cpu_milli, memory_bytes = options.cpu_milli, options.memory_mib * 1024 * 1024
    size = {"cpu_milli": cpu_milli, "memory_bytes": memory_bytes}
    if options.colocation is None:
        size |= {"batch_cpu_milli": cpu_milli, "batch_memory_bytes": memory_bytes}
    return {
        "data_dir": str(options.directory / "kube"),
        "host": HOST,
        "port": ports.kube,
        "stop_grace_s": POD_STOP_GRACE_S,
        "nodes": [{"name": node.name, "address": node.host, **size} for node in ports.nodes],
        "priority_classes": _priority_classes(options),
    }


def _priority_classes(options: LocalOptions) -> dict[str, int]:
    """Return the priority classes that pods name: Yodel's own if it lends, as with the chart, else those of the
    dialect's engine."""
    if options.colocation is not None:
        return {f"yodel-{role}": value for role, value in OWN_CLASSES.items()}
    name = DIALECTS[options.dialect].priority_class_name
    return {name: ENGINES_PRIORITY} if name else {}


def agent_settings(options: LocalOptions, ports: ClusterPorts, node: NodePorts) -> dict[str, Any]:
    """Fields of nm_plugin.settings.Settings."""
    base = options.directory / "nodes" / node.name
    return {
        "host": node.host,
        "bind_host": node.host,
        "rpc_port": node.rpc_port,
        "http_port": node.http_port,
        "shuffle_port": node.shuffle_port,
        "resource_tracker_host": HOST,
        "resource_tracker_port": ports.tracker,
        "rm_web_url": f"http://{HOST}:{ports.webapp}",
        "kubernetes_node_name": node.name,
        "node_token_file": str(options.directory / "node-token"),
        "memory_mib": options.memory_mib,
        "vcores": options.vcores,
        "fetch_closed_networks": [],  # what containers reach by themselves, they may have fetched
        "cgroup_mount": "",  # pods are processes here: groups of a kubelet, if there are any, are somebody else's
        "local_dirs": [str(base / "local")],
        "log_dirs": [str(base / "logs")],
        "handover_dir": str(options.directory / "handover"),
        "state_dir": str(base / "state"),
        "allowed_system_users": [getpass.getuser()],
        "disk_max_utilization_percent": 100.0,  # a developer's disk is full more often than it is broken
        "java_home": java_home() or "",
        "hadoop_conf_dir": str(options.directory / "hadoop-conf"),
        "log_aggregation_enable": True,
        "remote_app_log_dir": remote_app_log_dir(options.directory),
    }


def remote_app_log_dir(directory: Path) -> str:
    """Return the directory of ended applications' logs, for ``yarn logs``."""
    return (directory / "app-logs").as_uri()


def java_home() -> str | None:
    """``$JAVA_HOME``, or where the ``java`` on the path really lives, or the one that ``make setup`` fetched."""
    if os.environ.get("JAVA_HOME"):
        return os.environ["JAVA_HOME"]
    java = shutil.which("java")
    if java is not None:
        return str(Path(java).resolve().parent.parent)
    fetched = Path(sys.prefix) / "tools" / "java-home"
    return str(fetched.resolve()) if fetched.exists() else None


def closed_parents(directory: Path) -> list[Path]:
    """Folders above ``directory`` which other users may not pass through: their containers cannot run below."""
    return [parent for parent in directory.parents if parent.exists() and not parent.stat().st_mode & 0o001]


def _make_root(directory: Path) -> None:
    """A folder that was there keeps its mode, except that root's containers of other users must pass through."""
    if not directory.exists():
        directory.mkdir(parents=True)
        directory.chmod(0o755)
    elif os.geteuid() == 0:
        directory.chmod(directory.stat().st_mode & 0o7777 | 0o111)


def _write_toml(path: Path, values: dict[str, Any]) -> None:
    """JSON's strings, numbers and lists of strings are TOML's too."""
    write_atomically(path, "".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items()), 0o600)
