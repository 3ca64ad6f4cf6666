"""One pod on this machine, from its binding to its end: one task that owns the pod's processes and writes its status.

It starts the containers (or adopts those that an earlier run started), then sleeps until something happens: a process
ended, the pod was marked for deletion, the object is gone, a deadline passed.  A pod ends in one place only: what is
left of it is killed, the last status is published, and a pod that was marked for deletion is removed.
"""

from __future__ import annotations

import asyncio
import shutil
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import structlog

from yodel.errors import YodelError
from yodel.local import processes
from yodel.local.container_launch import CannotRun, host_paths, launch_of
from yodel.local.container_logs import LogWriter
from yodel.local.events import WARNING, EventRecorder, EventSource
from yodel.local.objects import ObjectStore, StoredObject
from yodel.local.pod_status import ContainerView, PodFacts, status_of
from yodel.local.processes import ContainerFiles, ShimProcess
from yodel.local.starter import RUN_ERROR, Starter
from yodel.local.statuses import Json
from yodel.local.times import from_text

START_ERROR = 128  # the kubelet's exit code of a container that could not be executed
RETRY_FIRST_S = 1.0
RETRY_MAX_S = 60.0
FAULT_PAUSE_S = 1.0
SHIM_END_TIMEOUT_S = 1.0
_FATAL_REASONS = frozenset({"StartError", RUN_ERROR})

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PodWorkerServices:
    """Holds the parts that all workers of one kubelet share.  ``addresses`` maps node names to addresses."""

    store: ObjectStore
    events: EventRecorder
    pods_dir: Path
    addresses: Mapping[str, str]
    now: Callable[[], datetime]
    writers: dict[tuple[str, str], LogWriter]
    starter: Starter


class PodWorker:
    """``run`` once; tell it of changes with ``pod_changed`` and ``pod_gone``."""

    def __init__(self, around: PodWorkerServices, record: StoredObject) -> None:
        self._around = around
        self.key, self.uid = record.key[1:], record.uid
        self._pod: Json = record.item
        self._node: str = record.item["spec"]["nodeName"]
        self._gone = False
        self._stop_at_s: float | None = None  # loop time at which everything is killed
        self._asked_grace_s: float | None = None  # the kubelet itself ends
        self._reason = self._message = ""
        self._changed = asyncio.Event()
        self._views: dict[str, ContainerView] = {c["name"]: ContainerView(name=c["name"]) for c in self._containers}
        self._shims: dict[str, ShimProcess] = {}
        self._started_at = self._first_seen()

    def pod_changed(self, record: StoredObject) -> None:
        self._pod = record.item
        self._changed.set()

    def pod_gone(self) -> None:
        self._gone = True
        self._changed.set()

    def stop(self, grace_s: float) -> None:
        """End the containers because this kubelet ends; the pod becomes Failed or Succeeded by their exit codes."""
        self._asked_grace_s = grace_s
        self._changed.set()

    async def run(self) -> None:
        try:
            while not await self._lead_guarded():  # noqa: ASYNC110 - a pause after a fault, not a poll
                await asyncio.sleep(FAULT_PAUSE_S)
        finally:
            self._let_go()

    async def _lead_guarded(self) -> bool:
        """False to try again.  The boundary where one pod's misfortune (a full disk) stops short of the kubelet."""
        try:
            await self._lead()
        except (OSError, YodelError) as error:
            _log.error("pod_worker_failed", pod="/".join(self.key), error=str(error))
            self._let_go()
            return False
        return True

    async def _lead(self) -> None:
        self._find_started()
        if await self._start_missing():
            self._publish()
            await self._until_ended()
        await self._end()

    def _find_started(self) -> None:
        """Take up what an earlier run of this program left: running shims, and ends that happened meanwhile."""
        for name in self._views:
            files = self._files(name)
            if not processes.was_started(files):
                continue
            started_at = self._published_start(name)
            self._views[name] = ContainerView(name=name, reason="", started_at=started_at)
            found = processes.adopt(files, self.uid)
            if found is not None:
                self._watch(name, *found)
            else:
                self._note_end(name)

    async def _start_missing(self) -> bool:
        """False when the pod went away before all of it could be started."""
        pause_s = RETRY_FIRST_S
        while missing := [view for view in self._views.values() if view.started_at is None and view.exit_code is None]:
            self._changed.clear()
            if self._is_leaving:
                return False
            try:
                await self._start(missing)
            except CannotRun as error:
                self._wait_with(missing, error)
                await self._sleep(pause_s)
                pause_s = min(pause_s * 2, RETRY_MAX_S)
        return True

    async def _start(self, missing: list[ContainerView]) -> None:
        volumes = host_paths(self._pod)
        for volume in volumes:
            await asyncio.to_thread(processes.prepare_host_path, volume)
        specs = {container["name"]: container for container in self._containers}
        for view in missing:
            launch = launch_of(self._pod, specs[view.name], address=self._address)
            self._say("Pulled", f"image {specs[view.name]['image']} is not used: the container runs as a process", view)
            files = self._files(view.name)
            try:
                pid, pidfd, output = await asyncio.to_thread(processes.start, launch, files, self._around.starter)
            except CannotRun as error:
                if error.reason not in _FATAL_REASONS:
                    raise
                self._fail_to_start(view, error)
                continue
            started_at = self._around.now()
            self._views[view.name] = ContainerView(name=view.name, reason="", started_at=started_at)
            self._watch(view.name, pid, pidfd, output)
            self._say("Created", f"Created container: {view.name}", view)
            self._say("Started", f"Started container {view.name}", view)

    def _watch(self, name: str, pid: int, pidfd: int, output: int | None = None) -> None:
        files = self._files(name)
        self._shims[name] = ShimProcess(pid, pidfd, self._changed.set)
        self._around.writers[self.uid, name] = LogWriter(
            files.fifo if output is None else output, files.log, self._around.now
        )

    def _fail_to_start(self, view: ContainerView, error: CannotRun) -> None:
        at = self._around.now()
        self._views[view.name] = replace(
            view, reason=error.reason, message=error.message, finished_at=at, exit_code=START_ERROR
        )
        self._say("Failed", f"Error: {error.message}", view, WARNING)

    def _wait_with(self, missing: list[ContainerView], error: CannotRun) -> None:
        for view in missing:
            if self._views[view.name].started_at is None:
                self._views[view.name] = replace(view, reason=error.reason, message=error.message)
        mount = error.reason == "FailedMount"
        self._say(
            error.reason if mount else "Failed", error.message if mount else f"Error: {error.message}", None, WARNING
        )
        self._publish()

    async def _until_ended(self) -> None:
        """Wait for all containers; returns early when they have to be killed."""
        loop = asyncio.get_running_loop()
        while True:
            self._changed.clear()
            if self._collect_ends() and self._running:
                self._publish()
            if not self._running or self._gone:
                return
            if self._stop_at_s is None:
                await self._check_reasons_to_stop()
            if self._stop_at_s is not None:
                self._stop_at_s = min(self._stop_at_s, loop.time() + self._grace_left_s())
                if loop.time() >= self._stop_at_s:
                    return
            await self._sleep(self._pause_s(loop.time()))

    async def _check_reasons_to_stop(self) -> None:
        grace_s: float = self._pod["spec"].get("terminationGracePeriodSeconds", 30)
        if self._asked_grace_s is not None:
            await self._terminate(self._asked_grace_s)
        elif self._is_deleting:
            await self._terminate(self._grace_left_s())
        elif self._active_left_s() <= 0:
            self._reason = "DeadlineExceeded"
            self._message = "Pod was active on the node longer than the specified deadline"
            await self._terminate(grace_s)

    async def _terminate(self, grace_s: float) -> None:
        self._stop_at_s = asyncio.get_running_loop().time() + grace_s
        for name in self._running:
            self._say("Killing", f"Stopping container {name}", self._views[name])
            await self._shims[name].signal_main(signal.SIGTERM)

    def _pause_s(self, now_s: float) -> float | None:
        left = [] if self._stop_at_s is None else [self._stop_at_s - now_s]
        if self._stop_at_s is None and self._pod["spec"].get("activeDeadlineSeconds") is not None:
            left.append(self._active_left_s())
        return max(0.0, min(left)) if left else None

    async def _end(self) -> None:
        """Kill what is left, say how it ended, and remove the object if that was asked for."""
        await self._kill_all()
        self._collect_ends()
        self._close_logs()
        if not self._gone and any(view.started_at or view.exit_code is not None for view in self._views.values()):
            self._publish()
        if self._is_deleting and not self._gone:
            self._remove_object()
        if self._gone:
            await asyncio.to_thread(shutil.rmtree, self._directory, True)

    async def _kill_all(self) -> None:
        """The containers first, so that the shims write down the exit status and kill what is orphaned.  Where one did
        not come to the end of that, all processes of the machine are looked at; also where a start failed, whose answer
        may have been lost."""
        started = [
            files
            for name, view in self._views.items()
            if processes.was_started(files := self._files(name)) or view.reason == RUN_ERROR
        ]
        for shim in self._shims.values():
            await shim.signal_main(signal.SIGKILL)
        for shim in self._shims.values():
            try:
                await asyncio.wait_for(shim.wait(), SHIM_END_TIMEOUT_S)  # also in a task that was cancelled
            except TimeoutError:
                shim.kill()
        if not all(map(processes.is_nothing_left, started)):
            shims = frozenset(shim.pid for shim in self._shims.values())
            await processes.kill_left_over(frozenset({self.uid}), shims=shims)

    def _collect_ends(self) -> bool:
        ended = [name for name in self._running if name not in self._shims or self._shims[name].has_ended]
        for name in ended:
            self._note_end(name)
        return bool(ended)

    def _note_end(self, name: str) -> None:
        files, view = self._files(name), self._views[name]
        end = processes.ended(files)
        if end is not None:
            finished_at = datetime.fromtimestamp(end.finished_at_s, UTC)
            self._views[name] = replace(view, exit_code=end.exit_code, finished_at=finished_at)
        else:  # only SIGKILL of the shim hides the status
            self._views[name] = replace(view, exit_code=processes.KILLED, finished_at=self._around.now())

    def _publish(self) -> None:
        """Write the status; a pod that is gone (or another one of the same name) is left alone."""
        record = self._around.store.find("pods", *self.key)
        if self._gone or record is None or record.uid != self.uid:
            return
        facts = PodFacts(
            address=self._address,
            started_at=self._started_at,
            containers=self._views,
            reason=self._reason,
            message=self._message,
        )
        status = status_of(record.item, facts, self._around.now())
        self._pod = self._around.store.replace("pods", {**record.item, "status": status}).item

    def _remove_object(self) -> None:
        record = self._around.store.find("pods", *self.key)
        if record is not None and record.uid == self.uid:
            self._around.store.remove("pods", *self.key)
        self._gone = True

    def _close_logs(self) -> None:
        for name in self._views:
            writer = self._around.writers.pop((self.uid, name), None)
            if writer is not None:
                writer.close()

    def _let_go(self) -> None:
        """Forget the processes without touching them."""
        self._close_logs()
        for shim in self._shims.values():
            shim.close()
        self._shims = {}

    async def _sleep(self, pause_s: float | None) -> None:
        """Until something changed since the caller's last look, at most ``pause_s``."""
        try:
            async with asyncio.timeout(pause_s):
                await self._changed.wait()
        except TimeoutError:
            pass

    def _say(self, reason: str, message: str, view: ContainerView | None, kind: str = "Normal") -> None:
        field_path = f"spec.containers{{{view.name}}}" if view is not None else ""
        source = EventSource(component="kubelet", host=self._node)
        self._around.events.record(self._pod, reason, message, source=source, kind=kind, field_path=field_path)

    def _grace_left_s(self) -> float:
        """Until the deletion's deadline; without one, no limit of its own."""
        deadline = self._pod["metadata"].get("deletionTimestamp")
        if deadline is None:
            return float("inf")
        whole_s: float = self._pod["metadata"].get("deletionGracePeriodSeconds", 0)
        left_s = (from_text(deadline) - self._around.now()).total_seconds() + 1.0  # the text is cut to whole seconds
        return max(0.0, min(whole_s, left_s))

    def _active_left_s(self) -> float:
        active_s = self._pod["spec"].get("activeDeadlineSeconds")
        if active_s is None:
            return float("inf")
        return (self._started_at + timedelta(seconds=active_s) - self._around.now()).total_seconds()

    def _published_start(self, name: str) -> datetime:
        """Return the container's start as an earlier run of this program published it; else now."""
        for entry in self._pod["status"].get("containerStatuses") or []:
            state = entry.get("state") or {}
            text = (state.get("running") or {}).get("startedAt")
            if entry["name"] == name and text:
                return from_text(text)
        return self._around.now()

    def _first_seen(self) -> datetime:
        text = self._pod["status"].get("startTime")
        return from_text(text) if text else self._around.now()

    def _files(self, container: str) -> ContainerFiles:
        return ContainerFiles(directory=self._directory / container)

    @property
    def _directory(self) -> Path:
        return self._around.pods_dir / self.uid

    @property
    def _containers(self) -> list[Json]:
        containers: list[Json] = self._pod["spec"]["containers"]
        return containers

    @property
    def _address(self) -> str:
        return self._around.addresses[self._node]

    @property
    def _running(self) -> list[str]:
        return [name for name, view in self._views.items() if view.is_running]

    @property
    def _is_deleting(self) -> bool:
        return "deletionTimestamp" in self._pod["metadata"]

    @property
    def _is_leaving(self) -> bool:
        return self._gone or self._is_deleting or self._asked_grace_s is not None
