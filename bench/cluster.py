"""A ``yodel local`` for measuring: started in a fresh directory, stopped with the block, with what clients need to
know.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from yodel.domain.ids import ApplicationAttemptId, ApplicationId
from yodel.hadoop_pb import yarn_service_protos_pb2 as msg
from yodel.hadoop_rpc.writable import WireToken
from yodel.pb_convert import ids
from yodel.rpc_io.client import RpcClient

CLIENT_PROTOCOL = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"
MASTER_PROTOCOL = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"
START_TIMEOUT_S = 90
TOKEN_POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class Cluster:
    directory: Path
    ready: dict[str, Any]

    def address(self, name: str) -> tuple[str, int]:
        host, _, port = str(self.ready["rm"][name]).rpartition(":")
        return host, int(port)

    def resident_mib(self, role: str) -> float:
        """Resident memory of a process, MiB."""
        return float(psutil.Process(self.ready["pids"][role]).memory_info().rss) / (1 << 20)

    def processor_s(self, role: str) -> float:
        """Return the processor time that a process has used, seconds."""
        used = psutil.Process(self.ready["pids"][role]).cpu_times()
        return float(used.user + used.system)


@contextlib.contextmanager
def local_cluster(*options: str) -> Iterator[Cluster]:
    directory = Path(tempfile.mkdtemp(prefix="yodel-bench-"))
    command = [sys.executable, "-m", "yodel", "local", "--dir", str(directory), "--ports", "auto", *options]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        ready = directory / "ready.json"
        deadline_s = time.monotonic() + START_TIMEOUT_S
        while not ready.exists():
            if process.poll() is not None or time.monotonic() > deadline_s:
                raise RuntimeError(f"yodel local did not start; see {directory}/logs")
            time.sleep(0.05)  # noqa: TID251 - a script that waits for a process
        yield Cluster(directory, json.loads(ready.read_text()))
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        shutil.rmtree(directory, ignore_errors=True)


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
