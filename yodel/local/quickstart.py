"""``yodel local``: a whole cluster on one machine, in the foreground, out of the same programs as in production.

A supervisor and its processes: the RM on SQLite, the small Kubernetes with its process kubelet, and N node agents.  All
they keep is below one directory; ``ready.json`` there is written last and removed first.

However a cluster ended, its containers end with it, at the latest when the next one starts on the directory.  What the
RM knows stays: an application that had not ended gets its next attempt, as after the restart of a YARN cluster with
recovery.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import httpx2
import structlog

from yodel.errors import Refused, Unavailable
from yodel.local.atomic_file import write_atomically
from yodel.local.cluster_files import (
    admin_header,
    agent_file,
    closed_parents,
    kube_file,
    make_directories,
    rm_file,
    write_configuration,
)
from yodel.local.colocation import switch_colocation
from yodel.local.left_over import end_left_over
from yodel.local.options import LocalOptions
from yodel.local.port_choice import HOST, ClusterPorts, NodePorts, choose_ports
from yodel.local.supervisor import Child, Supervised

POLL_INTERVAL_S = 0.05
STILL_STARTING_S = 30.0
"""How often a start that takes long is told to go on."""
FULL_LOOK_S = 5.0
FULL_BYTES = 1 << 20
"""Free bytes below which a disk counts as full: what must be written is a few pages at a time."""
POLL_TIMEOUT_S = 5.0
PID_BYTES_MAX = 20
Say = Callable[[str], None]
log = structlog.get_logger("yodel.local")


async def run_local(options: LocalOptions, stop: asyncio.Event, say: Say) -> None:
    """Serve until ``stop`` is set; everything started is stopped before it returns.

    Raises:
        InvalidValue: the directory cannot be used.
        Refused: another ``yodel local`` uses the directory.
        Unavailable: a port is taken, or a process did not come up; its log's end is in the message.
    """
    directory = options.directory
    make_directories(directory)
    with _locked(directory):
        (directory / "ready.json").unlink(missing_ok=True)
        if await end_left_over(directory):
            say("Stopped what an earlier yodel local left running.")
        ports = choose_ports(options.ports, options.nodes, directory / "ports.json")
        write_configuration(options, ports)
        cluster = _Cluster(options, ports, say)
        try:
            say(f"Starting a ResourceManager, a small Kubernetes and {len(ports.nodes)} node agent(s) …")
            if await _unless_stopped(cluster.start(), stop):
                web = f"http://{HOST}:{ports.webapp}"
                await switch_colocation(web, admin_header(directory), options.colocation)
                cluster.write_ready()
                say(_what_to_type(options, ports))
                await cluster.watch(stop)
        finally:
            (directory / "ready.json").unlink(missing_ok=True)
            await cluster.stop()
        say("Stopped.")


class _Cluster:
    """The processes of one local cluster."""

    def __init__(self, options: LocalOptions, ports: ClusterPorts, say: Say) -> None:
        self._directory, self._wait_s = options.directory, options.wait_s
        self._ports, self._say = ports, say
        self._kube = Supervised(self._kube_child())
        self._rm = Supervised(self._rm_child())
        self._agents = [Supervised(self._agent_child(node)) for node in ports.nodes]

    async def start(self) -> None:
        """All at once: each waits for the others by trying again."""
        until_s = asyncio.get_running_loop().time() + self._wait_s
        async with asyncio.TaskGroup() as tasks:
            telling = tasks.create_task(self._say_what_starts(), name="start")
            async with asyncio.TaskGroup() as starts:
                for child in self._all():
                    starts.create_task(child.start(), name=child.child.role)
            await self._until_nodes_run(until_s)
            telling.cancel()

    async def watch(self, stop: asyncio.Event) -> None:
        """Keep all alive, and ready.json true, until told to stop."""
        restarted = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            background = [tasks.create_task(c.keep(restarted), name=c.child.role) for c in self._all()]
            background.append(tasks.create_task(self._keep_ready(restarted), name="ready.json"))
            background.append(tasks.create_task(self._tell_of_a_full_disk(), name="disk"))
            await stop.wait()
            for task in background:
                task.cancel()

    async def stop(self) -> None:
        """Kubernetes last, because it ends every pod: an RM that saw that would start the next attempts."""
        await asyncio.gather(self._rm.stop(), *(agent.stop() for agent in self._agents))
        await self._kube.stop()

    def write_ready(self) -> None:
        content = json.dumps(self._ready(), indent=2) + "\n"
        write_atomically(self._directory / "ready.json", content, 0o644)

    async def _keep_ready(self, restarted: asyncio.Event) -> None:
        while True:
            await restarted.wait()
            restarted.clear()
            try:
                self.write_ready()
            except OSError as error:
                log.error("ready.json is not written", reason=str(error))
                await asyncio.sleep(FULL_LOOK_S)
                restarted.set()

    async def _tell_of_a_full_disk(self) -> None:
        """Processes go on by themselves once there is room: what fails is tried again, and what ended is started."""
        was_full = False
        while True:
            usage = await asyncio.to_thread(shutil.disk_usage, self._directory)
            is_full = usage.free < FULL_BYTES
            if is_full and not was_full:
                self._say(
                    f"The disk of {self._directory} is full ({usage.total >> 20} MiB, {usage.free >> 10} KiB free): "
                    "nothing is accepted, and no log is written, until there is free space."
                )
            elif was_full and not is_full:
                self._say(f"The disk of {self._directory} has free space again ({usage.free >> 20} MiB free).")
            was_full = is_full
            await asyncio.sleep(FULL_LOOK_S)

    async def _say_what_starts(self) -> None:
        waited_s = 0.0
        while True:
            await asyncio.sleep(STILL_STARTING_S)
            waited_s += STILL_STARTING_S
            logs = self._directory / "logs"
            self._say(f"Still starting after {waited_s:.0f} s, of at most {self._wait_s} (--wait-s); see {logs} …")

    def _ready(self) -> dict[str, Any]:
        ports = self._ports
        nodes = [
            {"name": node.name, "node_id": f"{node.host}:{node.rpc_port}", "http": f"{node.host}:{node.http_port}"}
            for node in ports.nodes
        ]
        return {
            "rm": {
                "host": HOST,
                "client": f"{HOST}:{ports.client}",
                "scheduler": f"{HOST}:{ports.scheduler}",
                "tracker": f"{HOST}:{ports.tracker}",
                "admin": f"{HOST}:{ports.admin}",
                "webapp": f"{HOST}:{ports.webapp}",
            },
            "rest_url": f"http://{HOST}:{ports.webapp}",
            "kube_url": f"https://{HOST}:{ports.kube}",
            "kubeconfig": str(self._directory / "kubeconfig"),
            "hadoop_conf_dir": str(self._directory / "hadoop-conf"),
            "nodes": nodes,
            "pids": {"supervisor": os.getpid(), **{child.child.role: child.pid for child in self._all()}},
        }

    async def _until_nodes_run(self, until_s: float) -> None:
        """Raises Unavailable when they do not in time, or a process ends meanwhile."""
        try:
            async with asyncio.timeout_at(until_s):
                while not await self._nodes_run():
                    for child in self._all():
                        if not child.is_alive:
                            raise await child.failed()
                    await asyncio.sleep(POLL_INTERVAL_S)
        except TimeoutError:
            logs = ", ".join(str(agent.child.log_path) for agent in self._agents)
            raise Unavailable(f"node agents did not register within {self._wait_s} s (--wait-s); see {logs}") from None

    async def _nodes_run(self) -> bool:
        url = f"http://{HOST}:{self._ports.webapp}/ws/v1/cluster/metrics"
        async with httpx2.AsyncClient(timeout=POLL_TIMEOUT_S, trust_env=False, verify=False) as client:
            try:
                metrics = (await client.get(url, headers=admin_header(self._directory))).json()["clusterMetrics"]
            except (httpx2.HTTPError, ValueError, KeyError):
                return False
        return int(metrics["activeNodes"]) >= len(self._agents)

    def _all(self) -> list[Supervised]:
        return [self._kube, self._rm, *self._agents]

    def _kube_child(self) -> Child:
        return self._child("kube", "yodel", "local-kubernetes", "--config", str(kube_file(self._directory)))

    def _rm_child(self) -> Child:
        return self._child("rm", "yodel", "serve", "--migrate", "--config", str(rm_file(self._directory)))

    def _agent_child(self, node: NodePorts) -> Child:
        config = str(agent_file(self._directory, node.name))
        return self._child(node.name, "nm_plugin", "--config", config, tells_readiness=False)

    def _child(self, role: str, module: str, *arguments: str, tells_readiness: bool = True) -> Child:
        return Child(
            role=role,
            command=(sys.executable, "-m", module, *arguments),
            log_path=self._directory / "logs" / f"{role}.log",
            tells_readiness=tells_readiness,
            ready_timeout_s=self._wait_s,
        )


def stop_on_signals(stop: asyncio.Event) -> None:
    """SIGINT, SIGTERM and a closed terminal ask for an orderly end; a second one changes nothing.

    Under ``nohup`` (SIGHUP ignored) a closed terminal goes on meaning nothing.
    """
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number is not signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            loop.add_signal_handler(number, stop.set)


async def _unless_stopped(work: Coroutine[Any, Any, None], stop: asyncio.Event) -> bool:
    """Do ``work``; false when ``stop`` came first.  Ctrl-C ends the children too: then their failure is no failure."""
    working, stopping = asyncio.ensure_future(work), asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
        if working.done() and not stop.is_set():
            await working
    finally:
        for task in (working, stopping):
            task.cancel()
        await asyncio.wait((working, stopping))
    return not stop.is_set()


@contextlib.contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """One supervisor a directory.  The kernel lets go of the lock however the process ends.  Raises Refused."""
    with (directory / "lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            pid = lock.read(PID_BYTES_MAX).strip() or "unknown"
            raise Refused(
                f"yodel local already runs on {directory} (pid {pid}); stop it first (Ctrl-C in its terminal, or "
                f"kill {pid}), or choose another --dir"
            ) from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


def _what_to_type(options: LocalOptions, ports: ClusterPorts) -> str:
    web, directory = f"http://{HOST}:{ports.webapp}", options.directory
    lines = [
        "",
        f"Ready.  Web page: {web}/cluster",
        "",
        "Submit from another terminal:",
        f"  export HADOOP_CONF_DIR={directory / 'hadoop-conf'}",
        "  spark-submit --master yarn --deploy-mode cluster your_job.py",
        "See the result:",
        "  yodel app list",
        f"  curl {web}/ws/v1/cluster/apps",
        f"  kubectl --kubeconfig {directory / 'kubeconfig'} get pods -L yodel.io/role,yodel.io/user",
        f"  less {directory / 'logs' / 'rm.log'}",
        "",
    ]
    if options.colocation is not None:
        lines += [
            "See the lent capacity of this machine, ten seconds after the start:",
            "  yodel node explain node-1",
            "",
        ]
    if os.geteuid() == 0 and (closed := closed_parents(directory)):
        lines += [f"Note: other users cannot pass through {closed[0]}, so only root's containers can run here.", ""]
    return "\n".join([*lines, "Ctrl-C stops everything."])
