"""Stock kubectl against the local cluster: what a user types has to work and to look as on a real cluster."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.local_kubernetes import LocalCluster, local_cluster

COMMAND_TIMEOUT_S = 600.0
WAIT_TIMEOUT_S = 600.0


def kubectl_path() -> str:
    beside = Path(__file__).resolve().parents[2] / ".venv" / "bin" / "kubectl"
    candidates = (os.environ.get("YODEL_KUBECTL"), shutil.which("kubectl"), str(beside) if beside.exists() else None)
    found = next((path for path in candidates if path), None)
    assert found is not None, "kubectl is neither in YODEL_KUBECTL nor on PATH nor in .venv/bin"
    return found


class Kubectl:
    """Runs kubectl with the cluster's kubeconfig and a cache of its own."""

    def __init__(self, cluster: LocalCluster, home: Path) -> None:
        self._environment = {"KUBECONFIG": str(cluster.kubeconfig), "HOME": str(home), "PATH": os.environ["PATH"]}

    async def __call__(self, *arguments: str, stdin: str = "") -> str:
        """Standard output; AssertionError when kubectl fails."""
        process = await self.start(*arguments)
        async with asyncio.timeout(COMMAND_TIMEOUT_S):
            output, errors = await process.communicate(stdin.encode())
        assert process.returncode == 0, f"kubectl {arguments}: {errors.decode()}"
        return output.decode()

    async def start(self, *arguments: str) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(
            kubectl_path(), *arguments, stdin=pipe, stdout=pipe, stderr=pipe, env=self._environment
        )

    async def run_pod(self, name: str, script: str, **labels: str) -> None:
        """Create a pod whose main container is a shell with ``script``."""
        await self("create", "-f", "-", stdin=json.dumps(pod_manifest(name, script, labels)))

    async def phase(self, name: str) -> str:
        return await self("get", "pod", name, "-o", "jsonpath={.status.phase}")

    async def until(self, check: Callable[[], Awaitable[bool]]) -> None:
        async with asyncio.timeout(WAIT_TIMEOUT_S):
            while not await check():  # noqa: ASYNC110 - the cluster is asked as a user asks it
                await asyncio.sleep(0.05)

    async def until_phase(self, name: str, phase: str) -> None:
        async def reached() -> bool:
            return await self.phase(name) == phase

        await self.until(reached)


def pod_manifest(name: str, script: str, labels: dict[str, str]) -> dict[str, Any]:
    amounts = {"kubernetes.io/batch-cpu": "500", "kubernetes.io/batch-memory": "64Mi"}
    container = {
        "name": "main",
        "image": "busybox:1",
        "command": ["/bin/sh", "-c", script],
        "resources": {"requests": amounts, "limits": amounts},
    }
    spec = {"restartPolicy": "Never", "containers": [container], "terminationGracePeriodSeconds": 5}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": spec}


@pytest.fixture
async def kubectl(tmp_path: Path) -> AsyncIterator[Kubectl]:
    async with local_cluster(tmp_path / "data") as cluster:
        yield Kubectl(cluster, tmp_path)


async def test_pods_are_listed_selected_and_printed_in_every_form(kubectl: Kubectl) -> None:
    await kubectl.run_pod("one", "sleep 60", queue="root.a", role="am")
    await kubectl.run_pod("two", "sleep 60", queue="root.b", role="task")
    await kubectl.until_phase("one", "Running")
    await kubectl.until_phase("two", "Running")
    listed = (await kubectl("get", "pods", "-L", "queue")).splitlines()
    assert listed[0].split() == ["NAME", "READY", "STATUS", "RESTARTS", "AGE", "QUEUE"]
    assert [line.split()[:3] + line.split()[-1:] for line in listed[1:]] == [
        ["one", "1/1", "Running", "root.a"],
        ["two", "1/1", "Running", "root.b"],
    ]
    assert await kubectl("get", "pods", "-l", "role in (am)", "-o", "name") == "pod/one\n"
    assert await kubectl("get", "pods", "-l", "role!=am", "-o", "name") == "pod/two\n"
    wide = (await kubectl("get", "pods", "-o", "wide")).splitlines()
    assert wide[0].split()[5:7] == ["IP", "NODE"]
    assert wide[1].split()[5:7] in (["127.0.0.2", "node-a"], ["127.0.0.3", "node-b"])
    assert json.loads(await kubectl("get", "pod", "one", "-o", "json"))["metadata"]["name"] == "one"
    assert "phase: Running" in await kubectl("get", "pod", "one", "-o", "yaml")
    assert await kubectl("get", "pods", "--field-selector", "metadata.name=two", "-o", "name") == "pod/two\n"


async def _tell(pipe: Path) -> None:
    """Writes a line once somebody reads."""
    while True:
        try:
            there = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            await asyncio.sleep(0.05)
        else:
            os.write(there, b"\n")
            os.close(there)
            return


async def test_watch_shows_life_and_death(kubectl: Kubectl, tmp_path: Path) -> None:
    go = tmp_path / "go"
    os.mkfifo(go)
    watch = await kubectl.start("get", "pods", "-w", "--no-headers")
    assert watch.stdout is not None
    try:
        await kubectl.run_pod("brief", f"read x < {go}")
        async with asyncio.timeout(WAIT_TIMEOUT_S):
            lines = [(await watch.stdout.readline()).decode().split()]
        async with asyncio.timeout(WAIT_TIMEOUT_S):
            await _tell(go)
            while lines[-1][2] != "Completed":
                lines.append((await watch.stdout.readline()).decode().split())
        assert {line[0] for line in lines} == {"brief"}
        assert lines[0][2] in ("Pending", "Running", "ContainerCreating")
    finally:
        with contextlib.suppress(ProcessLookupError):
            watch.kill()
        await watch.communicate()


async def test_describe_pod_tells_its_events(kubectl: Kubectl) -> None:
    await kubectl.run_pod("told", "sleep 60")
    await kubectl.until_phase("told", "Running")
    text = await kubectl("describe", "pod", "told")
    for part in ("Scheduled", "Pulled", "Created", "Started", "kubernetes.io/batch-memory:  64Mi", "Node:"):
        assert part in text


async def test_describe_node_sums_up_what_is_used(kubectl: Kubectl) -> None:
    await kubectl.run_pod("used", "sleep 60")
    await kubectl.until_phase("used", "Running")
    node = await kubectl("get", "pod", "used", "-o", "jsonpath={.spec.nodeName}")
    text = await kubectl("describe", "node", node)
    used = next(line for line in text.splitlines() if line.split()[:2] == ["kubernetes.io/batch-memory", "64Mi"])
    assert used.split()[2] == "64Mi"
    nodes = (await kubectl("get", "nodes")).splitlines()
    assert [line.split()[:2] for line in nodes[1:]] == [["node-a", "Ready"], ["node-b", "Ready"]]


async def test_logs_are_read_tailed_and_followed_to_the_end(kubectl: Kubectl, tmp_path: Path) -> None:
    go = tmp_path / "go"
    os.mkfifo(go)
    await kubectl.run_pod("talks", f"echo first; echo second >&2; read x < {go}; echo third")
    await kubectl.until_phase("talks", "Running")

    async def said() -> bool:
        return await kubectl("logs", "talks") == "first\nsecond\n"

    await kubectl.until(said)
    assert await kubectl("logs", "talks", "--tail=1") == "second\n"
    assert (await kubectl("logs", "talks", "--timestamps")).startswith("20")
    follow = await kubectl.start("logs", "-f", "talks")
    assert follow.stdout is not None
    async with asyncio.timeout(WAIT_TIMEOUT_S):
        assert await follow.stdout.readline() == b"first\n"
        await asyncio.to_thread(go.write_text, "go\n")
        output, _ = await follow.communicate()
    assert output == b"second\nthird\n"
    await kubectl.until_phase("talks", "Succeeded")
    assert await kubectl("logs", "talks", "--since=1h") == "first\nsecond\nthird\n"


async def test_delete_ends_the_process_and_the_object(kubectl: Kubectl, tmp_path: Path) -> None:
    mark = tmp_path / "terminated"
    await kubectl.run_pod("ends", f"trap 'echo yes > {mark}; exit 0' TERM; echo ready; while :; do sleep 0.05; done")

    async def ready() -> bool:
        return await kubectl.phase("ends") == "Running" and await kubectl("logs", "ends") == "ready\n"

    await kubectl.until(ready)
    assert "deleted" in await kubectl("delete", "pod", "ends")
    assert mark.read_text() == "yes\n"
    assert await kubectl("get", "pods", "-o", "name") == ""


async def test_small_questions_are_answered(kubectl: Kubectl) -> None:
    assert "Server Version: v1." in await kubectl("version")
    resources = await kubectl("api-resources", "-o", "name")
    assert resources.split() == ["events", "namespaces", "nodes", "pods"]
    await kubectl.run_pod("asked", "sleep 60")
    await kubectl.until_phase("asked", "Running")
    assert "Started container main" in await kubectl("get", "events")
    assert "default" in await kubectl("get", "namespaces")
    assert "cordoned" in await kubectl("cordon", "node-a")
    assert "SchedulingDisabled" in await kubectl("get", "node", "node-a")
    assert "labeled" in await kubectl("label", "pod", "asked", "colour=red")
    assert "annotated" in await kubectl("annotate", "pod", "asked", "note=text")


async def test_unschedulable_pod_says_why(kubectl: Kubectl) -> None:
    manifest = pod_manifest("huge", "true", {})
    amounts = {"kubernetes.io/batch-memory": "1Ti"}
    manifest["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}
    await kubectl("create", "-f", "-", stdin=json.dumps(manifest))

    async def told() -> bool:
        return "FailedScheduling" in await kubectl("describe", "pod", "huge")

    await kubectl.until(told)
    text = "0/2 nodes are available: 2 Insufficient kubernetes.io/batch-memory."
    assert text in await kubectl("get", "pod", "huge", "-o", "yaml")
