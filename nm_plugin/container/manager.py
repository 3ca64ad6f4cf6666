"""The containers of this node at work: what others ask of them, and the effects of their transitions.

Every long piece of work (localizing, handing over, waiting for the end, killing, cleaning) is a task of the agent's
task group with the container's name; a failure in it becomes an event, never a crash of the agent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import replace
from typing import Any

import structlog

from nm_plugin.container import diagnostics, life
from nm_plugin.container.applications import Applications
from nm_plugin.container.book import ContainerBook
from nm_plugin.container.counts import ContainerCounts
from nm_plugin.container.life import Container, ContainerEffect, LifeState
from nm_plugin.container.records import Application
from nm_plugin.container.resources import Localization
from nm_plugin.container.signals import COMMANDS
from nm_plugin.container.work import ContainerWork, WorkOwner
from nm_plugin.host.tasks import TaskOwner
from nm_plugin.host.users import Accounts
from nm_plugin.localization.plan import LocalResource
from nm_plugin.logs.uploading.aggregation import LogAggregator
from nm_plugin.logs.uploading.journal import LogContext
from yodel.domain.ids import ApplicationId, ContainerId
from yodel.domain.resource import Resource
from yodel.domain.states import ContainerExitStatus
from yodel.errors import Refused, YodelError
from yodel.hadoop_pb import yarn_protos_pb2 as pb


class ContainerManager:
    """All containers and applications that this node knows.  Methods are for the event loop's thread.

    ``work_for`` makes what performs effects and reports to this ledger; ``report``: the RM should be notified soon.
    """

    def __init__(
        self,
        *,
        book: ContainerBook,
        applications: Applications,
        accounts: Accounts,
        work_for: Callable[[WorkOwner], ContainerWork],
        logs: LogAggregator,
        tasks: TaskOwner,
        report: Callable[[], None],
        now_ms: Callable[[], int],
    ) -> None:
        self._book, self._applications, self._accounts, self._logs = book, applications, accounts, logs
        self._tasks, self._report, self._now_ms = tasks, report, now_ms
        self._does = work_for(self)
        self._workers: dict[ContainerId, asyncio.Task[None]] = {}
        self._cleaning: set[ContainerId] = set()
        self._log = structlog.get_logger(__name__)

    # What others look at.

    @property
    def counts(self) -> ContainerCounts:
        return self._book.counts

    def get(self, container_id: ContainerId) -> Container | None:
        return self._book.get(container_id)

    def all(self) -> tuple[Container, ...]:
        return self._book.all()

    def applications(self) -> tuple[Application, ...]:
        return self._applications.all()

    def was_stopped_recently(self, container_id: ContainerId) -> bool:
        return self._book.was_stopped_recently(container_id)

    # What others ask for.

    def localization_of(self, container_id: ContainerId) -> list[tuple[str, Localization, str]]:
        """Return link, state and reason of failure of each resource of a known container."""
        container = self._book.get(container_id)
        assert container is not None, "asked for what is known"
        return self._does.localization_of(container)

    async def start(self, container: Container, acls: Mapping[str, str]) -> None:
        """Take a new container; localization and launch go on behind.  The first one's ACLs are its application's.

        Raises:
            Refused: known already, or the node is full.
        """
        container = replace(container, user_uid=await self._accounts.uid(container.user))
        self._book.take(container)
        application = await self._applications.take(container, acls)
        await self._expect_logs(container, application)
        await self.apply(container.container_id, life.Started())

    async def kill(self, container_id: ContainerId, exit_status: int, text: str) -> None:
        """Have it killed; ``exit_status`` is what will be reported.  Unknown ids are ignored."""
        event = life.KillRequested(exit_status=exit_status, diagnostics=diagnostics.killed(self._now_ms(), text))
        await self.apply(container_id, event)

    async def signal(self, container_id: ContainerId, name: str) -> bool:
        """Send a signal by name to a running container; False when it was not delivered."""
        container = self._book.get(container_id)
        if container is None or container.state is not LifeState.RUNNING:
            return False
        delivered = await self._does.signal(container_id, name)
        text = (
            f"Sent signal {COMMANDS.get(name, '')} (SIG{name}) to pid {container.pid} as user {container.user} "
            f"for container {container_id}, result={'success' if delivered else 'failed'}"
        )
        await self.note(container_id, diagnostics.stamped(self._now_ms(), text))
        return delivered

    async def restart(self, container_id: ContainerId) -> None:
        """Have a running container's script ended and started again; nothing when it does not run."""
        text = diagnostics.stamped(self._now_ms(), "Container will be Restarted.")
        await self.apply(container_id, life.RestartRequested(diagnostics=text))

    async def upgrade(self, container_id: ContainerId, context: bytes, auto_commit: bool) -> None:
        """Restart with another launch context; its resources are localized before the script is ended."""
        text = diagnostics.stamped(self._now_ms(), "Container will be Re-initialized.")
        request = life.RestartRequested(context=context, keeps_previous=not auto_commit, diagnostics=text)
        await self.apply(container_id, request)

    async def roll_back(self, container_id: ContainerId) -> None:
        """Undo the last upgrade.  Raises Refused when there is none, or it was committed."""
        container = self._book.get(container_id)
        if container is None or not container.rollback:
            raise Refused("Nothing to rollback to !!")
        text = diagnostics.stamped(self._now_ms(), "Container upgrade will be Rolled-back.")
        await self.apply(container_id, life.RestartRequested(context=container.rollback, diagnostics=text))

    async def commit(self, container_id: ContainerId) -> None:
        """The last upgrade stays.  Raises Refused when there is none, or it was committed."""
        container = self._book.get(container_id)
        if container is None or not container.rollback:
            raise Refused("Nothing to Commit !!")
        await self.change(container_id, rollback=b"")

    def localize(self, container_id: ContainerId, resources: tuple[LocalResource, ...]) -> None:
        """Bring more resources into a running container, behind.  Raises Refused when it does not run."""
        container = self._book.get(container_id)
        if container is None or container.state is not LifeState.RUNNING:
            raise Refused(f"{_state_text(container, container_id)}; only a running container can be resized")
        self._does.expect_more(container_id, resources)
        self.spawn(self._does.localize_more(container_id, resources), f"localize-more-{container_id}")

    async def update(self, container_id: ContainerId, resource: Resource, version: int) -> None:
        """A new size, also of one that has ended; raises Refused unless it is known and the version is newer
        (updateContainerInternal's words)."""
        container = self._book.get(container_id)
        if container is None and self.was_stopped_recently(container_id):
            raise Refused(f"Container {container_id} was recently stopped on node manager.")
        if container is None:
            raise Refused(f"Container {container_id} is not handled by this NodeManager")
        if version <= container.version:
            text = f"has update version [{container.version}] >= requested version [{version}]"
            raise Refused(f"Container {container_id} {text}")
        await self.change(container_id, resource=resource, version=version)

    async def name_pod(self, container_id: ContainerId, pod_uid: str) -> None:
        """Record the pod of a container: its token may not name it, or the kubelet has rejected the first one."""
        container = self._book.get(container_id)
        if container is not None and container.pod_uid != pod_uid:
            await self.change(container_id, pod_uid=pod_uid)

    async def acknowledge(self, container_ids: Iterable[ContainerId]) -> None:
        """Nobody has to hear of their ends any more: forget them, as soon as they are cleaned up."""
        for container_id in container_ids:
            await self._book.acknowledge(container_id)

    async def finish_application(self, application_id: ApplicationId) -> None:
        """The application is over: kill what is left of it and then remove what it had on disk."""
        if not await self._applications.finish(application_id):
            return
        for container in self._book.of(application_id):
            await self.kill(
                container.container_id,
                ContainerExitStatus.KILLED_AFTER_APP_COMPLETION,
                diagnostics.KILLED_AFTER_APP_COMPLETION,
            )
        self._clean_application_if_idle(application_id)

    async def recover(self) -> None:
        """Take over at start what the last agent knew and carry on with each container where it stood."""
        await self._applications.recover()
        await self._book.recover(self._accounts.uid)
        for container in self._book.all():
            self._does.adopt_resources(container)
        for container in self._book.all():
            await self._carry_on(container)
        for application in self._applications.all():
            self._clean_application_if_idle(application.application_id)

    # Transitions.

    async def apply(self, container_id: ContainerId, event: life.Event) -> None:
        """One event, then its effects."""
        applied = await self._book.apply(container_id, event)
        if applied is None:
            return
        before, step = applied
        after = step.entity
        if after.state.is_complete and not before.state.is_complete:
            await self._logs.container_finished(container_id, after.exit_status)
        for effect in step.effects:
            self._perform(effect, container_id)
        if after.state is LifeState.DONE:
            self._clean_application_if_idle(container_id.application_id)
            await self._book.forget_acknowledged(container_id)

    async def change(self, container_id: ContainerId, **changes: Any) -> None:
        await self._book.change(container_id, **changes)

    async def note(self, container_id: ContainerId, text: str) -> None:
        await self._book.note(container_id, text)

    def _perform(self, effect: ContainerEffect, container_id: ContainerId) -> None:
        if effect is ContainerEffect.REPORT:
            self._report()
        elif effect is ContainerEffect.LOCALIZE:
            self._work(container_id, self._does.localize(container_id))
        elif effect is ContainerEffect.LAUNCH:
            self._work(container_id, self._does.launch(container_id))
        elif effect is ContainerEffect.RELAUNCH:
            self._work(container_id, self._does.relaunch(container_id))
        elif effect is ContainerEffect.RESTART:
            self._work(container_id, self._does.restart(container_id))
        elif effect is ContainerEffect.PREPARE_UPGRADE:
            self._work(container_id, self._does.prepare_upgrade(container_id))
        elif effect is ContainerEffect.STOP_RUN:
            self.spawn(self._does.stop_run(container_id), f"stop-run-{container_id}")
        elif effect is ContainerEffect.TERMINATE:
            worker = self._workers.pop(container_id, None)
            self.spawn(self._does.terminate(container_id, worker), f"terminate-{container_id}")
        else:
            self._cleaning.add(container_id)
            self.spawn(self._clean_up(container_id), f"clean-up-{container_id}")

    def _work(self, container_id: ContainerId, work: Coroutine[Any, Any, None]) -> None:
        """The one task that moves a container forward; a kill cancels it."""
        task = self.spawn(work, f"container-{container_id}")
        self._workers[container_id] = task
        task.add_done_callback(lambda done: self._worker_done(container_id, done))

    def _worker_done(self, container_id: ContainerId, task: asyncio.Task[None]) -> None:
        if self._workers.get(container_id) is task:
            del self._workers[container_id]

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        return self._tasks.create_task(self._guarded(work, name), name=name)

    async def _guarded(self, work: Coroutine[Any, Any, None], name: str) -> None:
        try:
            await work
        except Exception as error:
            # The boundary of one container's work: a disk that refuses during clean-up, or a bug, must cost at most
            # this container; in the agent's task group it would end every other one's supervision.
            self._log.error("work_failed", work=name, reason=f"{type(error).__name__}: {error}")

    async def _clean_up(self, container_id: ContainerId) -> None:
        try:
            await self._does.remove_traces(container_id)
        finally:
            # Whatever was left, the container is over: its application's directories go next.
            self._cleaning.discard(container_id)
            await self.apply(container_id, life.CleanedUp())
            self._clean_application_if_idle(container_id.application_id)

    # Applications.

    def _clean_application_if_idle(self, application_id: ApplicationId) -> None:
        application = self._applications.get(application_id)
        if application is None or not application.finished:
            return
        if any(c.state is not LifeState.DONE for c in self._book.of(application_id)):
            return
        if any(container_id.application_id == application_id for container_id in self._cleaning):
            return
        gone = self._applications.give_up(application_id)
        self.spawn(self._applications.clean_up(gone), f"clean-up-{application_id}")

    async def _expect_logs(self, container: Container, application: Application) -> None:
        origin = LogContext(
            user=application.user,
            context=container.log_aggregation,
            acls=application.acls,
            credentials=pb.ContainerLaunchContextProto.FromString(container.launch_context).tokens,
        )
        await self._logs.started(container.container_id, container.is_master, origin)

    # Recovery.

    async def _carry_on(self, container: Container) -> None:
        container_id, state = container.container_id, container.state
        if state in _IN_PODS:
            try:
                await self._does.adopt_pod(container)
            except (YodelError, OSError) as error:
                self._log.error("container_not_adopted", container=str(container_id), reason=str(error))
        effects = _RESUME[state]
        if state is LifeState.RUNNING:
            self._does.watch(container_id)
        elif state is LifeState.NEW:
            await self.apply(container_id, life.Started())
        for effect in effects:
            self._perform(effect, container_id)


_IN_PODS = (LifeState.SCHEDULED, LifeState.RUNNING, LifeState.REINITIALIZING, LifeState.RELAUNCHING, LifeState.KILLING)

# What a restarted agent has to do again for a container in this state (all effects may be repeated).
_RESUME: dict[LifeState, tuple[ContainerEffect, ...]] = {
    LifeState.NEW: (),
    LifeState.LOCALIZING: (ContainerEffect.LOCALIZE,),
    LifeState.LOCALIZATION_FAILED: (ContainerEffect.CLEAN_UP,),
    LifeState.SCHEDULED: (ContainerEffect.LAUNCH,),
    LifeState.RUNNING: (),
    LifeState.REINITIALIZING: (ContainerEffect.STOP_RUN,),
    LifeState.RELAUNCHING: (ContainerEffect.RELAUNCH,),
    LifeState.EXITED_WITH_SUCCESS: (ContainerEffect.CLEAN_UP,),
    LifeState.EXITED_WITH_FAILURE: (ContainerEffect.CLEAN_UP,),
    LifeState.KILLING: (ContainerEffect.TERMINATE,),
    LifeState.DONE: (),
}


def _state_text(container: Container | None, container_id: ContainerId) -> str:
    if container is None:
        return f"Container {container_id} is not handled by this NodeManager"
    return f"Container {container_id} is in state {container.state.value}"
