"""The kubelet of all local nodes: one worker task for each bound pod that has not ended, and the logs of all of them.

It is told of every change by the store, so a pod's end, deletion or disappearance reaches its worker in the same turn
of the event loop.  A pod that does not fit when it arrives is refused (``admission``).

At start it kills processes of pods that are gone and gives every living pod to a worker, which adopts its processes.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import datetime
from pathlib import Path

from yodel.local import processes
from yodel.local.admission import Rejection, rejection
from yodel.local.container_logs import parse_log_options, read_log
from yodel.local.events import WARNING, EventRecorder, EventSource
from yodel.local.nodes import LocalNode
from yodel.local.objects import ObjectChange, ObjectStore, StoredObject
from yodel.local.pod_worker import PodWorker, PodWorkerServices
from yodel.local.processes import ContainerFiles
from yodel.local.starter import Starter
from yodel.local.statuses import Json, bad_request

STOP_MARGIN_S = 10.0


class Kubelet:
    """Construct, ``run`` until cancelled; ``stop_pods`` ends every container first when that is wanted."""

    def __init__(
        self,
        store: ObjectStore,
        events: EventRecorder,
        nodes: tuple[LocalNode, ...],
        pods_dir: Path,
        now: Callable[[], datetime],
    ) -> None:
        self._store, self._events, self._pods_dir, self._now = store, events, pods_dir, now
        self._workers: dict[str, PodWorker] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._admitted: dict[str, tuple[str, str]] = {}
        self._group: asyncio.TaskGroup | None = None
        self._around = PodWorkerServices(
            store=store,
            events=events,
            pods_dir=pods_dir,
            addresses={node.name: node.address for node in nodes},
            now=now,
            writers={},
            starter=Starter(),
        )

    async def run(self) -> None:
        self._pods_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._remove_pods_of_missing_nodes()
        await self._sweep()
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                self._store.listen(self._on_change)
                for record in self._store.list("pods"):
                    self._take_up(record)
                await asyncio.Event().wait()  # the workers' group lives until this task is cancelled
        finally:
            self._around.starter.close()

    async def stop_pods(self, grace_s: float) -> None:
        """SIGTERM to every container, SIGKILL after ``grace_s``; returns when all workers are done."""
        for worker in self._workers.values():
            worker.stop(grace_s)
        if self._tasks:
            await asyncio.wait(tuple(self._tasks.values()), timeout=grace_s + STOP_MARGIN_S)

    def _on_change(self, change: ObjectChange) -> None:
        if change.resource != "pods":
            return
        if change.kind == "DELETED":
            self._forget(change.record)
        else:
            self._take_up(change.record)

    def _take_up(self, record: StoredObject) -> None:
        worker = self._workers.get(record.uid)
        if worker is not None:
            worker.pod_changed(record)
        elif self._group is not None and self._is_ours(record):
            worker = self._workers[record.uid] = PodWorker(self._around, record)
            name = f"pod {record.key[1]}/{record.key[2]}"
            self._tasks[record.uid] = self._group.create_task(self._work(worker), name=name)

    async def _work(self, worker: PodWorker) -> None:
        try:
            if self._is_admitted(worker):
                await worker.run()
        finally:
            self._admitted.pop(worker.uid, None)
            del self._workers[worker.uid]
            del self._tasks[worker.uid]

    def _is_admitted(self, worker: PodWorker) -> bool:
        """False for one that was refused; its status says so."""
        record = self._store.find("pods", *worker.key)
        if record is None or record.uid != worker.uid:
            return True  # gone already: nothing is started
        pod, node_name = record.item, record.item["spec"]["nodeName"]
        node = self._store.find("nodes", "", node_name)
        if node is not None and not pod["status"].get("startTime"):
            refused = rejection(pod, node.item, self._others_on(node_name))
            if refused is not None:
                self._refuse(pod, refused)
                return False
        self._admitted[worker.uid] = worker.key
        return True

    def _refuse(self, pod: Json, refused: Rejection) -> None:
        message = f"Pod was rejected: {refused.message}"
        status = {**pod["status"], "phase": "Failed", "reason": refused.reason, "message": message}
        self._store.replace("pods", {**pod, "status": status})
        source = EventSource(component="kubelet", host=pod["spec"]["nodeName"])
        self._events.record(pod, refused.reason, refused.message, source=source, kind=WARNING)

    def _others_on(self, node_name: str) -> list[Json]:
        found = [self._store.find("pods", *key) for key in self._admitted.values()]
        return [record.item for record in found if record is not None and record.item["spec"]["nodeName"] == node_name]

    def _forget(self, record: StoredObject) -> None:
        worker = self._workers.get(record.uid)
        if worker is not None:
            worker.pod_gone()
        elif self._group is not None and (self._pods_dir / record.uid).exists():
            self._group.create_task(_remove(self._pods_dir / record.uid), name=f"remove files of {record.key[2]}")

    def _is_ours(self, record: StoredObject) -> bool:
        is_over = record.item["status"].get("phase") in ("Succeeded", "Failed")
        return record.item["spec"].get("nodeName") in self._around.addresses and not is_over

    def _remove_pods_of_missing_nodes(self) -> None:
        """Remove pods of missing nodes, as the pod garbage collector of a real cluster does."""
        for record in self._store.list("pods"):
            node = record.item["spec"].get("nodeName")
            if node and node not in self._around.addresses:
                self._store.remove("pods", *record.key[1:])

    async def _sweep(self) -> None:
        """Kill and clear what belongs to pods whose objects are gone: a directory means that there may be processes."""
        known = {record.uid for record in self._store.records("pods")}
        orphans = [entry for entry in self._pods_dir.iterdir() if entry.name not in known]
        if orphans:
            await processes.kill_left_over(frozenset(entry.name for entry in orphans))
        for entry in orphans:
            await _remove(entry)

    def read(self, pod: StoredObject, query: Mapping[str, str]) -> AsyncIterator[bytes]:
        """``pods/log``.  Raises ApiError (400) when the container is unknown or has not started."""
        container = self._chosen_container(pod, query.get("container", ""))
        options = parse_log_options(query, self._now())
        files = ContainerFiles(directory=self._pods_dir / pod.uid / container)
        writer = self._around.writers.get((pod.uid, container))
        statuses = pod.item["status"].get("containerStatuses") or []
        state: Json = next((entry["state"] for entry in statuses if entry["name"] == container), {})
        if writer is None and not files.log.exists() and "terminated" not in state:
            reason = (state.get("waiting") or {}).get("reason") or "ContainerCreating"
            raise bad_request(f'container "{container}" in pod "{pod.key[2]}" is waiting to start: {reason}')
        return read_log(files.log, options, writer)

    def _chosen_container(self, pod: StoredObject, wanted: str) -> str:
        names = [str(container["name"]) for container in pod.item["spec"]["containers"]]
        if not wanted and len(names) == 1:
            return names[0]
        if not wanted:
            text = f"a container name must be specified for pod {pod.key[2]}, choose one of: [{' '.join(names)}]"
            raise bad_request(text)
        if wanted not in names:
            raise bad_request(f"container {wanted} is not valid for pod {pod.key[2]}")
        return wanted


async def _remove(directory: Path) -> None:
    await asyncio.to_thread(shutil.rmtree, directory, True)
