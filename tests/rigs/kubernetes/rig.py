"""The rig is what `make cluster` brings up: the cluster, the file system beside it and Yodel in it, in this order."""

from __future__ import annotations

import concurrent.futures
import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from tests.rigs.kubernetes import layout
from tests.rigs.kubernetes.cluster import Cluster, binaries, prepare_host
from tests.rigs.kubernetes.control_plane import API_SERVER
from tests.rigs.kubernetes.daemons import Daemons, RigError
from tests.rigs.kubernetes.hdfs import HISTORY_HTTP_PORT, HISTORY_PORT, URL, ClusterHdfs
from tests.rigs.kubernetes.images import build_images
from tests.rigs.kubernetes.install import Installed, install, uninstall
from tests.rigs.kubernetes.layout import HOST_ADDRESS, NODES_MAX
from tests.rigs.kubernetes.node import Node
from tests.rigs.kubernetes.release_values import Target

HOME = layout.home()
KUBECONFIG = HOME.kubeconfig
STATE = HOME.path / "rig.json"
FOLDER = HOME.path / "yodel"
OWN_VALUES = "YODEL_RIG_VALUES"
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Keep what ``env`` and the tests know of a running rig.  ``nodes`` is 0 on a cluster of somebody's own."""

    kubeconfig: str
    nodes: int
    conf_dir: str
    rest_url: str
    namespace: str
    container_namespace: str
    address: str


def up(
    own_kubeconfig: Path | None,
    *,
    nodes: int,
    bare: bool,
    say: Say,
    put_files: Callable[[ClusterHdfs], None] = lambda hdfs: None,
) -> State | None:
    """All of it, or what is missing.  None when ``bare``.  Raises RigError and InstallFailed.

    HDFS comes beside the cluster, and ``put_files`` fills it while Yodel is installed.
    """
    if own_kubeconfig is not None:
        return _install_on(own_kubeconfig, say)
    if not 1 <= nodes <= NODES_MAX:
        raise RigError(f"{nodes} nodes: expected 1 to {NODES_MAX}")
    prepare_host()
    say("binaries and images (built when they are not in the cache)")
    images = build_images()
    cluster = Cluster(HOME, nodes=nodes, say=say)
    if bare:
        cluster.up(images.archives)
        return None
    hdfs = ClusterHdfs(HOME, cluster.daemons, nodes)

    def bring_files() -> None:
        hdfs.start()
        say(f"HDFS at {URL}")
        put_files(hdfs)

    FOLDER.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(1) as beside:
        files: list[concurrent.futures.Future[None]] = []
        cluster.up(images.archives, lambda: files.append(beside.submit(bring_files)))
        installed = install(
            Target(
                kubeconfig=KUBECONFIG,
                helm=binaries("helm") / "helm",
                folder=FOLDER,
                images=images,
                address=cluster.nodes[0].address,
                default_fs=URL,
                properties=(
                    f"mapred-site.xml:mapreduce.jobhistory.address={HOST_ADDRESS}:{HISTORY_PORT}",
                    f"mapred-site.xml:mapreduce.jobhistory.webapp.address={HOST_ADDRESS}:{HISTORY_HTTP_PORT}",
                ),
            ),
            say,
        )
        for future in files:
            future.result()
    return _keep(installed, nodes)


def down(say: Say) -> None:
    """Whatever is there.  On a cluster of somebody's own: what was installed."""
    state = read_state()
    if state is not None and state.nodes == 0:
        uninstall(Target(kubeconfig=Path(state.kubeconfig), helm=binaries("helm") / "helm", folder=FOLDER), say)
    elif HOME.path.exists():
        daemons = Daemons(HOME)
        ClusterHdfs(HOME, daemons, 0).stop()
        Cluster.down(HOME, daemons)
        say("nothing is left of the cluster")


def is_up() -> bool:
    """Return whether there is one that works: not what is left of one that ended with its machine."""
    state = read_state()
    return state is not None and (state.nodes == 0 or Daemons(HOME).find(API_SERVER) is not None)


def status() -> list[str]:
    """A line for each daemon."""
    daemons = Daemons(HOME)
    return [_described(name, daemons.find(name)) for name in daemons.names()]


def node(number: int, action: str) -> None:
    """``stop-kubelet``, ``crash``, ``cut``, ``join`` or ``restart``."""
    if not HOME.node(number).exists():
        raise RigError(f"there is no node {number}")
    target = Node(HOME, Daemons(HOME), binaries("kubernetes"), number)
    getattr(target, action.replace("-", "_"))()


def exports() -> dict[str, str]:
    """Variables by which kubectl, Hadoop and Spark find the running rig.  Raises RigError when there is none."""
    state = read_state()
    if state is None:
        raise RigError("there is no cluster: make cluster")
    return {"KUBECONFIG": state.kubeconfig, "HADOOP_CONF_DIR": state.conf_dir, "YARN_CONF_DIR": state.conf_dir}


def read_state() -> State | None:
    try:
        return State(**json.loads(STATE.read_text()))
    except FileNotFoundError:
        return None


def _install_on(kubeconfig: Path, say: Say) -> State:
    values = os.environ.get(OWN_VALUES)
    if not values:
        raise RigError(f"KUBECONFIG is set: {OWN_VALUES} has to name a values file for that cluster (README.md)")
    FOLDER.mkdir(parents=True, exist_ok=True)
    target = Target(kubeconfig=kubeconfig, helm=binaries("helm") / "helm", folder=FOLDER, own_values=Path(values))
    return _keep(install(target, say), 0)


def _keep(installed: Installed, nodes: int) -> State:
    state = State(
        kubeconfig=str(installed.kubeconfig),
        nodes=nodes,
        conf_dir=str(installed.conf_dir),
        rest_url=installed.rest_url,
        namespace=installed.namespace,
        container_namespace=installed.container_namespace,
        address=installed.address,
    )
    STATE.write_text(json.dumps(asdict(state)))
    return state


def _described(name: str, process: psutil.Process | None) -> str:
    if process is None:
        return f"{name:28} ended"
    with process.oneshot():
        times, memory = process.cpu_times(), process.memory_info()
    return f"{name:28} pid {process.pid:<8} {memory.rss >> 20:5} MiB  {times.user + times.system:8.1f} s"
