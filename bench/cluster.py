"""ResourceManagers to measure, stopped with the block, with what clients need to know: a ``yodel local`` in a fresh
directory, and Hadoop's own.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tests.conformance import cluster as conformance
from tests.support.hadoop import running_hadoop
from tests.support.node_manager import running_node_manager, settings_of
from yodel.domain.ids import ApplicationAttemptId, ApplicationId
from yodel.hadoop_pb import yarn_service_protos_pb2 as msg
from yodel.hadoop_rpc.writable import WireToken
from yodel.pb_convert import ids
from yodel.rpc_io.client import RpcClient

CLIENT_PROTOCOL = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"
MASTER_PROTOCOL = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"
START_TIMEOUT_S = 90
TOKEN_POLL_S = 0.05
KEPT_MORE = 100


@dataclass(frozen=True, slots=True)
class Cluster:
    name: str
    ready: dict[str, Any]

    @property
    def rest_url(self) -> str:
        """``http://host:port`` of the ResourceManager."""
        return str(self.ready["rest_url"])

    def address(self, name: str) -> tuple[str, int]:
        host, _, port = str(self.ready["rm"][name]).rpartition(":")
        return host, int(port)

    def resident_mib(self, role: str = "rm") -> float:
        """Resident memory of a process, MiB; 0 when it has ended."""
        with contextlib.suppress(psutil.NoSuchProcess):
            return float(psutil.Process(self.ready["pids"][role]).memory_info().rss) / (1 << 20)
        return 0.0

    def processor_s(self, role: str = "rm") -> float:
        """Return the processor time that a process has used, seconds."""
        used = psutil.Process(self.ready["pids"][role]).cpu_times()
        return float(used.user + used.system)

    def hold_to(self, cores: Iterable[int]) -> None:
        """Let the ResourceManager's threads run on these cores only, as ``taskset --all-tasks`` does."""
        for thread in psutil.Process(self.ready["pids"]["rm"]).threads():
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(thread.id, cores)


@contextlib.contextmanager
def local_cluster(
    *options: str,
    checkout: Path | None = None,
    completed_max: int | None = None,
    more: Mapping[str, str] | None = None,
    has_node_manager: bool = False,
) -> Iterator[Cluster]:
    """Start ``yodel local`` of this checkout, or of another that ``make setup`` has made; ``more``: environment.

    With ``has_node_manager`` all queues run on a NodeManager like the one of ``hadoop_cluster``, without pods.
    """
    directory = Path(tempfile.mkdtemp(prefix="yodel-bench-"))
    python = sys.executable if checkout is None else str(checkout / ".venv" / "bin" / "python")
    command = [python, "-m", "yodel", "local", "--dir", str(directory), "--ports", "auto", *options]
    settings = {} if completed_max is None else {"YODEL_COMPLETED_MAX": str(completed_max)}
    if has_node_manager:
        settings |= settings_of(directory) | {"YODEL_NODE_MANAGERS_POOL": "yarn", "YODEL_DIALECT": "yarn"}
    process: subprocess.Popen[bytes] = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
        cwd=checkout,
        env={**os.environ, **settings, **(more or {})},
    )
    try:
        ready = directory / "ready.json"
        deadline_s = time.monotonic() + START_TIMEOUT_S
        while not ready.exists():
            if process.poll() is not None or time.monotonic() > deadline_s:
                raise RuntimeError(f"yodel local did not start; see {directory}/logs")
            time.sleep(0.05)  # noqa: TID251 - a script that waits for a process
        with contextlib.ExitStack() as stack:
            if has_node_manager:
                stack.enter_context(running_node_manager(conformance.Cluster(directory, process)))
            yield Cluster("Yodel" if checkout is None else str(checkout), json.loads(ready.read_text()))
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        shutil.rmtree(directory, ignore_errors=True)


@contextlib.contextmanager
def hadoop_cluster(completed_max: int, more: Mapping[str, str] | None = None) -> Iterator[Cluster]:
    """Start the real ResourceManager with its leveldb store, and one NodeManager; ``more``: yarn-site's properties."""
    kept = {"yarn.resourcemanager.max-completed-applications": str(completed_max), **(more or {})}
    files = {"yarn-site.xml": kept, "core-site.xml": {"fs.defaultFS": "file:///"}}
    with running_hadoop(more=files, with_hdfs=False) as rig:
        rig.start_yarn()
        ports = rig.servers.ports
        rm = {"client": f"127.0.0.1:{ports.rm_client}", "scheduler": f"127.0.0.1:{ports.rm_scheduler}"}
        pids = {"rm": rig.resource_manager.pid}
        yield Cluster("Hadoop 3.5.0", {"rm": rm, "pids": pids, "rest_url": rig.rest_url})


def client(cluster: Cluster, user: str = "root") -> RpcClient:
    host, port = cluster.address("client")
    return RpcClient(host=host, port=port, protocol=CLIENT_PROTOCOL, user=user, client_id=secrets.token_bytes(16))


async def submit_unmanaged(rpc: RpcClient, queue: str = "") -> ApplicationId:
    """An application whose ApplicationMaster is the caller."""
    new = await rpc.call("getNewApplication", msg.GetNewApplicationRequestProto(), msg.GetNewApplicationResponseProto)
    request = msg.SubmitApplicationRequestProto()
    context = request.application_submission_context
    context.application_id.CopyFrom(new.application_id)
    context.application_name, context.unmanaged_am = "bench", True
    if queue:
        context.queue = queue
    context.am_container_spec.SetInParent()
    await rpc.call("submitApplication", request, msg.SubmitApplicationResponseProto)
    return ids.application_id(new.application_id)


async def amrm_token(rpc: RpcClient, application_id: ApplicationId) -> tuple[ApplicationAttemptId, WireToken]:
    """The attempt's token; Hadoop's own RM makes it a moment after the submission."""
    request = msg.GetApplicationReportRequestProto(application_id=ids.application_id_pb(application_id))
    async with asyncio.timeout(START_TIMEOUT_S):
        while True:
            reply = await rpc.call("getApplicationReport", request, msg.GetApplicationReportResponseProto)
            if reply.application_report.HasField("am_rm_token"):
                break
            await asyncio.sleep(TOKEN_POLL_S)
    token = reply.application_report.am_rm_token
    attempt = ids.attempt_id(reply.application_report.currentApplicationAttemptId)
    return attempt, WireToken(identifier=token.identifier, password=token.password, kind=token.kind, service="")


async def until(is_so: Callable[[], bool | Awaitable[bool]], pause_s: float) -> None:
    """Return when it is so; it is asked again after each pause."""
    while True:
        found = is_so()
        if found if isinstance(found, bool) else await found:
            return
        await asyncio.sleep(pause_s)
