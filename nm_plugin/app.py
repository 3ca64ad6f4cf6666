"""The node agent put together: the only file that constructs adapters.

Order of start: directories, what the last agent left (cache, containers), the ContainerManagement port, the web port,
then the RM.  Everything that runs is a task of one group; the end of the tracker (SHUTDOWN) or of the process's wish to
live ends the group.  Containers survive the agent: nothing is killed at its end.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import structlog
from starlette.applications import Starlette

from nm_plugin import from_settings
from nm_plugin.aux.services import AuxService, AuxServices
from nm_plugin.aux.spark_shuffle import SparkShufflePaths, SparkShuffleService
from nm_plugin.capacity.bounds import Bounds, StaleMount
from nm_plugin.capacity.clock import MonotonicClock
from nm_plugin.capacity.emergency import EmergencyWatch
from nm_plugin.capacity.lender import Lender
from nm_plugin.capacity.running import Batches
from nm_plugin.cgroups.pod_groups import PodGroups
from nm_plugin.container.applications import Applications, EndOf
from nm_plugin.container.at_limit import NOTHING, AtLimit
from nm_plugin.container.book import ContainerBook
from nm_plugin.container.ending import Ending
from nm_plugin.container.launcher import Launcher
from nm_plugin.container.manager import ContainerManager
from nm_plugin.container.notices import Notices
from nm_plugin.container.records import Records
from nm_plugin.container.resources import Resources
from nm_plugin.container.shuffle_hook import ShuffleHook
from nm_plugin.container.spark_settings import SparkSettings
from nm_plugin.container.work import ContainerWork
from nm_plugin.host.directories import PUBLIC_DIR_MODE, Directories, make_roots
from nm_plugin.host.disks import Disks
from nm_plugin.host.processes import ProcessTable
from nm_plugin.host.safety import SafetyThreads
from nm_plugin.host.tasks import TaskOwner
from nm_plugin.host.users import Accounts, FileThreads, OsUser, PwdUsers, SingleUser, UserDatabase
from nm_plugin.keys.keeper import KeyKeeper
from nm_plugin.keys.key_file import KeyFile
from nm_plugin.keys.token_secrets import TokenSecrets
from nm_plugin.launch import command
from nm_plugin.launch.members import ProcessWatch
from nm_plugin.launch.parked import ParkedPods
from nm_plugin.localization.cache import ResourceCache
from nm_plugin.localization.fetch import HttpFiles, LocalFiles, UrlReader
from nm_plugin.localization.hdfs import HdfsFiles
from nm_plugin.logs.assembly import build_aggregator, build_makers, build_recalls
from nm_plugin.logs.uploading.aggregation import LogAggregator
from nm_plugin.logs.worker_pool import WorkerPool
from nm_plugin.node.housekeeping import Housekeeping
from nm_plugin.node.memory import MemoryMonitor
from nm_plugin.node.watch import NodeWatch
from nm_plugin.rpc import tracker
from nm_plugin.rpc.container_protocol import ContainerService
from nm_plugin.rpc.port import container_management_port
from nm_plugin.settings import MAPREDUCE_SHUFFLE, Settings
from nm_plugin.shuffle.service import MapReduceShuffle
from nm_plugin.web.serve import LogServer, NodeInfo, agent_version, build_app, connection_limits
from yodel.domain.ids import ApplicationId, ContainerId, NodeId
from yodel.domain.resource import Resource
from yodel.hadoop_http.probe_port import ProbePort
from yodel.rpc_io.client import RpcClient
from yodel.rpc_io.server import RpcServer

SERVE_WITHOUT_RM_AFTER_S = 2.0
BACKGROUND_THREADS = 4  # yarn.nodemanager.delete.thread-count


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A started agent, for whoever started it."""

    node_id: NodeId
    http_port: int
    manager: ContainerManager
    registered: asyncio.Event


@dataclass(frozen=True, slots=True, kw_only=True)
class _Adapters:
    """Holds the adapters to the machine, each made once; every part is given those that it needs."""

    accounts: Accounts
    directories: Directories
    records: Records
    tasks: TaskOwner
    disks: Disks
    cache: ResourceCache
    pods: ParkedPods
    monitor: MemoryMonitor
    logs: LogAggregator
    makers: WorkerPool


class NodeAgent:
    """``run`` lives until cancelled or told to shut down."""

    def __init__(
        self,
        settings: Settings,
        *,
        users: UserDatabase | None = None,
        sources: Mapping[str, UrlReader] | None = None,
        aux: Mapping[str, AuxService] | None = None,
    ) -> None:
        self._settings = settings
        self._agent_user = OsUser(name="", uid=os.geteuid(), gid=os.getegid())
        self._users = users or _users(settings)
        self._extra_sources = dict(sources or {})
        self._hdfs: HdfsFiles | None = None
        self._safety = SafetyThreads()
        # One for each that downloads, and some for what else the cache does.
        self._loading = FileThreads(settings.localizer_concurrency + 2, "localization", to_its_end=True)
        # What nobody waits for, of trees that users made as large as they liked: removing them, publishing logs.
        self._background = FileThreads(BACKGROUND_THREADS, "background")
        self._aux = AuxServices({**_aux_services(settings, self._users), **(aux or {})})
        self._log = structlog.get_logger(__name__)

    async def run(self, started: Callable[[Running], None] | None = None) -> None:
        """Serve until cancelled.

        Raises:
            tracker.ShutdownOrdered: the RM does not want this node.
            StaleMount: the agent is to be started again.
            OSError: a port is taken or a directory cannot be made.
        """
        try:
            async with self.running() as running:
                if started is not None:
                    started(running)
                await asyncio.Event().wait()
        except BaseExceptionGroup as group:
            ordered: BaseException | None = group.split((tracker.ShutdownOrdered, StaleMount))[0]
            while isinstance(ordered, BaseExceptionGroup):
                ordered = ordered.exceptions[0]
            if ordered is not None:
                raise ordered from None
            raise

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Running]:
        """The agent as a context: everything is up inside, and gone after it (containers excepted)."""
        settings = self._settings
        accounts = Accounts(self._users, FileThreads(settings.file_threads))
        directories = Directories(local_dirs=settings.local_dirs, log_dirs=settings.log_dirs)
        await accounts.threads.run(make_roots, directories)
        await accounts.threads.run(_make_handover_root, settings.handover_dir)
        records = await accounts.threads.run(Records, settings.state_dir)  # first: the directory is the agent's alone
        try:
            async with asyncio.TaskGroup() as group:
                tasks = TaskOwner(group)
                try:
                    await self._aux.start(tasks)
                    async with self._serving(self._adapters(accounts, directories, records, tasks)) as running:
                        yield running
                finally:
                    tasks.cancel_all()
        finally:
            if self._hdfs is not None:
                await self._hdfs.close()
            await self._aux.stop()
            self._safety.close()
            self._loading.close()
            self._background.close()
            accounts.threads.close()

    def _adapters(self, accounts: Accounts, directories: Directories, records: Records, tasks: TaskOwner) -> _Adapters:
        settings, threads, loading = self._settings, accounts.threads, self._loading
        cache_settings = from_settings.cache_settings(settings)
        return _Adapters(
            accounts=accounts,
            directories=directories,
            records=records,
            tasks=tasks,
            disks=Disks(directories, from_settings.disk_limits(settings)),
            cache=ResourceCache(cache_settings, self._sources(loading), loading, self._agent_user, tasks),
            pods=ParkedPods(settings.handover_dir, threads, self._safety.signals, self._background),
            monitor=MemoryMonitor(ProcessTable(), _pod_groups(settings), from_settings.monitor_limits(settings)),
            logs=build_aggregator(
                settings, directories, accounts.users, self._background, self._safety.records, tasks, _now_ms
            ),
            makers=build_makers(settings, threads),
        )

    def _manager(self, made: _Adapters, book: ContainerBook, late: _Late) -> ContainerManager:
        settings, accounts = self._settings, made.accounts
        ending = Ending(
            from_settings.ending_settings(settings),
            made.pods,
            Accounts(accounts.users, self._background),
            made.directories,
            made.monitor.seen,
            ProcessWatch(self._safety.survivors, ProcessTable()),
        )
        launcher = Launcher(made.disks, made.pods, accounts, late.node, settings.launch_deadline_s)
        ends: tuple[EndOf, ...] = (
            lambda over: made.logs.application_finished(over.application_id),
            lambda over: self._aux.application_finished(over.application_id),
            lambda over: made.cache.forget_application(str(over.application_id)),
            ending.end_application,
        )
        resources = Resources(made.cache, accounts)
        return ContainerManager(
            book=book,
            applications=Applications(made.records, self._safety.records, ends),
            accounts=accounts,
            work_for=partial(
                ContainerWork,
                accounts=accounts,
                resources=resources,
                shuffle=ShuffleHook(
                    accounts,
                    SparkSettings(accounts, made.cache),
                    resources,
                    made.makers,
                    frozenset(self._settings.aux_services),
                ),
                launcher=launcher,
                ending=ending,
                at_limit=late.at_limit,
                now_ms=_now_ms,
            ),
            logs=made.logs,
            tasks=made.tasks,
            report=late.report,
            now_ms=_now_ms,
        )

    def _watch(self, made: _Adapters, late: _Late) -> NodeWatch:
        return NodeWatch(
            from_settings.watch_settings(self._settings),
            monitor=made.monitor,
            disks=made.disks,
            threads=made.accounts.threads,
            memory=self._safety.memory,
            use_dirs=made.cache.use_dirs,
            report=late.report,
            now_ms=_now_ms,
        )

    @contextlib.asynccontextmanager
    async def _serving(self, made: _Adapters) -> AsyncIterator[Running]:
        """Ports open, containers re-adopted, tracker running."""
        settings, accounts, logs = self._settings, made.accounts, made.logs
        threads, saving = accounts.threads, self._safety.records
        secrets_of_rm, late = TokenSecrets(), _Late()
        keys = KeyKeeper(secrets_of_rm, await threads.run(KeyFile, settings.state_dir), saving)
        has_keys = await keys.recover()
        book = ContainerBook(made.records, saving, settings.containers_max)
        manager = self._manager(made, book, late)
        service = ContainerService(manager, secrets_of_rm, self._aux, keys.save, _now_ms)
        server = container_management_port(settings.rpc, service, secrets_of_rm)
        # The RM may hand out this node as soon as it has registered it, and its answer brings the keys that tokens are
        # verified with: who comes before it has arrived waits.
        _, rpc_port = await server.start(settings.bind_host, settings.rpc_port, accept=False)
        web = LogServer(settings.bind_host, settings.http_port, connection_limits(settings))
        probes = ProbePort(lambda: "" if late.tracker is not None else "starting")
        try:
            await probes.start(settings.bind_host, settings.probe_port)
            node_id = NodeId(settings.host, rpc_port)
            secrets_of_rm.node_id = node_id
            late.command_node = from_settings.launch_node(settings, node_id, web.port, self._aux.metadata())
            watch = self._watch(made, late)
            notices = Notices(manager, ProcessTable(), threads, SparkSettings(accounts, made.cache), _now_ms)
            late.bounds = bounds = self._bounds(manager)
            lender = self._lender(made.monitor, late.report, bounds, self._emergency(manager, late.report))
            tracking = self._tracker(node_id, web.port, secrets_of_rm, watch, keys, logs, notices, lender)
            late.tracker = tracking
            logs.report = late.report
            await logs.load(node_id)
            await watch.check_disks()
            await made.cache.recover(accounts.users)
            made.tasks.create_task(made.pods.watch(), name="parked-pods")
            await manager.recover()
            await logs.resume(_ended_containers(manager))
            facts = NodeInfo(
                node_id=node_id,
                http_port=web.port,
                started_ms=_now_ms(),
                settings=settings,
                disks=made.disks,
                rpc=server,
                state=watch.state,
            )
            loops = {
                "web": web.serve(self._pages(made, facts, manager)),
                "tracker": tracking.run(manager),
                "accept": _accept_once_registered(tracking, server, has_keys),
                "memory-monitor": watch.watch_memory(manager),
                "disk-check": watch.watch_disks(),
                "health-script": watch.watch_health(),
                "capacity": lender.run(),
                "bounds": bounds.run(),
                "housekeeping": self._housekeeping(made, book, manager).keep(),
            }
            for name, loop in loops.items():
                made.tasks.create_task(loop, name=name)
            self._log.info("node_agent_started", node=str(node_id), http_port=web.port)
            yield Running(node_id=node_id, http_port=web.port, manager=manager, registered=tracking.registered)
        finally:
            await web.stop()
            await server.stop()
            await probes.stop()

    def _pages(self, made: _Adapters, facts: NodeInfo, manager: ContainerManager) -> Starlette:
        users, threads = made.accounts.users, made.accounts.threads
        recalls = build_recalls(self._settings, users, threads)
        return build_app(facts, manager, made.directories, users, threads, made.logs, recalls)

    def _housekeeping(self, made: _Adapters, book: ContainerBook, manager: ContainerManager) -> Housekeeping:
        def needed() -> set[ApplicationId]:
            return {one.application_id for one in manager.applications()} | set(made.logs.applications())

        return Housekeeping(
            from_settings.housekeeping_settings(self._settings),
            book=book,
            cache=made.cache,
            pods=made.pods,
            accounts=Accounts(made.accounts.users, self._background),
            needed=needed,
        )

    def _bounds(self, manager: ContainerManager) -> Bounds:
        settings = self._settings
        writable = Path(settings.cgroup_writable) if settings.cgroup_writable else None
        mount = Path(settings.cgroup_mount)
        running, threads = Batches(manager.all), self._safety.bounds
        return Bounds(writable, mount, settings.cgroup_root, settings.state_dir, MonotonicClock(), threads, running)

    def _emergency(self, manager: ContainerManager, changed: Callable[[], None]) -> EmergencyWatch | None:
        """None where no cgroups are seen: nothing tells which containers run on lent capacity."""
        settings = self._settings
        if not from_settings.sees_cgroups(settings):
            return None
        return EmergencyWatch(
            Path(settings.cgroup_mount),
            settings.cgroup_root,
            MonotonicClock(),
            self._safety.emergency,
            manager.all,
            manager.kill,
            changed,
        )

    def _lender(
        self,
        monitor: MemoryMonitor,
        changed: Callable[[], None],
        bounds: Bounds,
        emergency: EmergencyWatch | None,
    ) -> Lender:
        settings = self._settings
        source = from_settings.capacity_source(settings, monitor.mains)
        most = from_settings.most_to_lend(settings)
        pressure = from_settings.online_pressure(settings)
        return Lender(source, most, MonotonicClock(), self._safety.reading, changed, bounds, emergency, pressure)

    def _tracker(
        self,
        node_id: NodeId,
        http_port: int,
        secrets_of_rm: TokenSecrets,
        watch: NodeWatch,
        keys: KeyKeeper,
        logs: LogAggregator,
        notices: Notices,
        lender: Lender,
    ) -> tracker.Tracker:
        settings = self._settings
        description = tracker.NodeDescription(
            node_id=node_id,
            http_port=http_port,
            resource=Resource(settings.memory_mib, settings.vcores),
            version=f"yodel-{agent_version()}",
            kubernetes_node_name=settings.kubernetes_node_name or settings.host,
        )
        return tracker.Tracker(
            from_settings.tracker_settings(self._settings),
            description,
            secrets_of_rm,
            self._tracker_connection,
            watch.state,
            keys.save,
            logs,
            notices.take,
            lender,
        )

    def _tracker_connection(self) -> RpcClient:
        settings = self._settings
        return RpcClient(
            host=settings.resource_tracker_host,
            port=settings.resource_tracker_port,
            protocol=tracker.PROTOCOL_NAME,
            user="yarn",
            token=from_settings.node_token(settings),
            connect_timeout_s=min(5.0, settings.rpc_timeout_s),
            call_timeout_s=settings.rpc_timeout_s,
            client_id=secrets.token_bytes(16),
        )

    def _sources(self, threads: FileThreads) -> dict[str, UrlReader]:
        local = LocalFiles(threads=threads)
        http = HttpFiles(threads=threads, closed=self._settings.fetch_closed_networks)
        self._hdfs = hdfs = HdfsFiles(threads=threads, config_dir=self._settings.hadoop_conf_dir)
        built: dict[str, UrlReader] = {"file": local, "http": http, "https": http, "hdfs": hdfs, "viewfs": hdfs}
        return {**built, **self._extra_sources}


def _pod_groups(settings: Settings) -> PodGroups:
    return PodGroups(Path(settings.cgroup_mount) if settings.cgroup_mount else None, settings.cgroup_root)


def _ended_containers(manager: ContainerManager) -> dict[ApplicationId, dict[ContainerId, int | None]]:
    """Every known application's containers, with the exit status of those that have ended."""
    known: dict[ApplicationId, dict[ContainerId, int | None]] = {a.application_id: {} for a in manager.applications()}
    for container in manager.all():
        exit_status = int(container.exit_status) if container.state.is_complete else None
        known.setdefault(container.container_id.application_id, {})[container.container_id] = exit_status
    return known


async def _accept_once_registered(tracking: tracker.Tracker, server: RpcServer, has_keys: bool) -> None:
    """A restarted agent has its keys: when the RM is away, running applications are served all the same."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(SERVE_WITHOUT_RM_AFTER_S if has_keys else None):
            await tracking.registered.wait()
    await server.accept_connections()


class _Late:
    """Serves the manager's requests for values that are known only once the ports are open."""

    def __init__(self) -> None:
        self.command_node: command.NodeEnvironment | None = None
        self.tracker: tracker.Tracker | None = None
        self.bounds: Bounds | None = None

    def node(self) -> command.NodeEnvironment:
        assert self.command_node is not None
        return self.command_node

    def report(self) -> None:
        if self.tracker is not None:
            self.tracker.report()

    async def at_limit(self, container_id: ContainerId) -> AtLimit:
        return await self.bounds.at_limit(container_id) if self.bounds is not None else NOTHING


def _users(settings: Settings) -> UserDatabase:
    if settings.user_mode == "single":
        return SingleUser(uid=os.geteuid(), gid=os.getegid())
    return PwdUsers(
        min_user_id=settings.min_user_id,
        allowed_system_users=frozenset(settings.allowed_system_users),
        reserved_uid=settings.unpack_uid,
    )


def _aux_services(settings: Settings, users: UserDatabase) -> dict[str, AuxService]:
    places = SparkShufflePaths(
        state_dir=settings.state_dir, local_dirs=settings.local_dirs, java_home=settings.java_home
    )
    services: dict[str, AuxService] = {
        name: SparkShuffleService(name, service, places) for name, service in settings.aux_services.items()
    }
    if settings.shuffle_enabled:
        shuffle = from_settings.shuffle_settings(settings)
        services[MAPREDUCE_SHUFFLE] = MapReduceShuffle(shuffle, settings.local_dirs, settings.state_dir, users)
    return services


def _make_handover_root(path: Path) -> None:
    path.mkdir(parents=True, exist_ok=True)
    os.chmod(path, PUBLIC_DIR_MODE)


def _now_ms() -> int:
    return int(datetime.now(UTC).timestamp() * 1000)
