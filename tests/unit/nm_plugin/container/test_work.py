"""The effects of transitions, each with the real hand-over and cache and a ledger that only writes down."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nm_plugin.container.at_limit import AtLimit
from nm_plugin.container.ending import Ending, EndingSettings
from nm_plugin.container.launcher import Launcher
from nm_plugin.container.life import (
    Container,
    Event,
    Exited,
    Launched,
    LaunchFailed,
    LocalizationFailed,
    Localized,
    State,
    with_diagnostics,
)
from nm_plugin.container.resources import Localization, Resources
from nm_plugin.container.shuffle_hook import ShuffleHook
from nm_plugin.container.spark_settings import SparkSettings
from nm_plugin.container.work import ContainerWork
from nm_plugin.host.directories import Directories, make_roots
from nm_plugin.host.disks import DiskLimits, Disks
from nm_plugin.host.processes import ProcessTable
from nm_plugin.host.tasks import TaskOwner
from nm_plugin.host.users import Accounts, FileThreads, OsUser
from nm_plugin.launch import command
from nm_plugin.launch.members import ProcessWatch
from nm_plugin.launch.parked import ParkedPods
from nm_plugin.localization.archive import Limits
from nm_plugin.localization.cache import CacheSettings, ResourceCache
from nm_plugin.localization.fetch import LocalFiles
from nm_plugin.localization.plan import wanted
from nm_plugin.logs.worker_pool import WorkerPool
from tests.support.node_agent import FakeUsers, add_resource, container_id, context_of, eventually
from tests.support.parked_pod import start_parked_pod
from yodel.domain.ids import ContainerId, NodeId
from yodel.domain.resource import Resource
from yodel.domain.states import ContainerExitStatus
from yodel.errors import Refused
from yodel.hadoop_pb import yarn_protos_pb2 as pb

CONTAINER = container_id(2)
NOW_MS = 1_700_000_000_000


@dataclass
class Notebook:
    """A ledger: one container, and what was reported of it."""

    tasks: TaskOwner
    container: Container
    events: list[Event] = field(default_factory=list)
    beyond: str = ""
    told: str = ""

    def get(self, container_id: ContainerId) -> Container | None:
        return self.container if container_id == self.container.container_id else None

    async def apply(self, container_id: ContainerId, event: Event) -> None:
        self.events.append(event)

    async def change(self, container_id: ContainerId, **changes: Any) -> None:
        self.container = replace(self.container, **changes)

    async def note(self, container_id: ContainerId, text: str) -> None:
        self.container = with_diagnostics(self.container, text)

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        return self.tasks.create_task(work, name=name)

    async def at_limit(self, container_id: ContainerId) -> AtLimit:
        return AtLimit(ended=self.beyond, told=self.told)

    async def next(self) -> Event:
        await eventually(lambda: bool(self.events))
        return self.events.pop(0)


@dataclass
class World:
    """Everything of one container; ``root`` holds its directories."""

    root: Path
    work: ContainerWork
    notes: Notebook
    space: SimpleNamespace
    disks: Disks
    alice: OsUser

    def give(self, context: pb.ContainerLaunchContextProto, **changes: Any) -> None:
        self.notes.container = replace(
            self.notes.container, launch_context=context.SerializeToString(), **{"state": State.LOCALIZING, **changes}
        )

    async def pod(self) -> Any:
        return await start_parked_pod(self.root / "handover", CONTAINER, self.alice.uid, self.alice.gid)

    @property
    def work_dir(self) -> Path:
        return Path(self.notes.container.local_dir)

    def source(self, name: str, text: str) -> Path:
        path = self.root / name
        path.write_text(text)
        path.chmod(0o644)
        return path


@pytest.fixture
async def world(
    open_path: Path, users: FakeUsers, threads: FileThreads, alice: OsUser, agent_user: OsUser
) -> AsyncIterator[World]:
    directories = Directories(local_dirs=(open_path / "l",), log_dirs=(open_path / "g",))
    make_roots(directories)
    for name in ("state", "handover"):
        (open_path / name).mkdir()
    (open_path / "handover").chmod(0o755)
    cache_settings = CacheSettings(
        local_dirs=directories.local_dirs,
        state_dir=open_path / "state",
        target_bytes=1 << 30,
        resource_bytes_max=1 << 20,
        archive_limits=Limits(entries_max=10, bytes_max=1 << 20, ratio_max=100),
        unpack_user=OsUser(name="", uid=65533, gid=65533),
        concurrency=2,
        fetch_timeout_s=5,
    )
    space = SimpleNamespace(total=100 << 30, free=50 << 30)
    settings = EndingSettings(sigkill_delay_ms=50, kill_wait_s=5, deletion_delay_s=0)
    disks = Disks(directories, DiskLimits(), lambda path: space)
    async with asyncio.TaskGroup() as group:
        tasks = TaskOwner(group)
        pods = ParkedPods(open_path / "handover", threads, threads, threads)
        tasks.create_task(pods.watch(), name="pods")
        cache = ResourceCache(cache_settings, {"file": LocalFiles(threads=threads)}, threads, agent_user, tasks)
        accounts = Accounts(users, threads)
        notes = Notebook(
            tasks, Container(container_id=CONTAINER, user="alice", user_uid=alice.uid, resource=Resource(1, 1))
        )
        makers = WorkerPool(threads=threads, config_dir=None, slots=asyncio.Semaphore(1))
        node = command.Node(node_id=NodeId("127.0.0.1", 8041), http_port=8042)
        resources, looks = Resources(cache, accounts), ProcessWatch(threads, ProcessTable())
        work = ContainerWork(
            notes,
            accounts=accounts,
            resources=resources,
            shuffle=ShuffleHook(accounts, SparkSettings(accounts, cache), resources, makers, ()),
            launcher=Launcher(disks, pods, accounts, lambda: node, 5),
            ending=Ending(settings, pods, accounts, directories, lambda container_id: frozenset(), looks),
            at_limit=notes.at_limit,
            now_ms=lambda: NOW_MS,
        )
        yield World(open_path, work, notes, space, disks, alice)
        tasks.cancel_all()


async def test_localized_launched_and_ended(world: World) -> None:
    context = context_of("cat sub/data 1><LOG_DIR>/stdout; exit 4", tokens_bytes=b"HDTS\x00\x00\x00")
    add_resource(context, "sub/data", world.source("data", "text"))
    world.give(context)
    await world.work.localize(CONTAINER)
    assert await world.notes.next() == Localized()
    pod = await world.pod()
    await world.work.launch(CONTAINER)
    assert isinstance(await world.notes.next(), Launched)
    tokens = (world.work_dir / command.TOKENS_FILE).stat()
    assert (stat.S_IMODE(tokens.st_mode), tokens.st_uid) == (0o600, world.alice.uid)
    ended = await world.notes.next()
    assert isinstance(ended, Exited)
    assert (ended.exit_status, ended.at_ms, ended.run) == (4, NOW_MS, 0)
    assert "Container exited with a non-zero exit code 4." in ended.diagnostics
    assert (Path(world.notes.container.log_dir) / "stdout").read_text() == "text"
    assert await pod.wait() == 4


async def test_missing_resource_is_told_with_hadoops_words(world: World) -> None:
    context = context_of("exit 0")
    source = world.source("data", "text")
    add_resource(context, "data", source)
    source.unlink()
    world.give(context)
    await world.work.localize(CONTAINER)
    failed = await world.notes.next()
    assert isinstance(failed, LocalizationFailed)
    assert "Failed to download resource: " in failed.diagnostics
    assert str(source) in failed.diagnostics


async def test_nothing_is_launched_on_bad_disks(world: World) -> None:
    world.space.free = 0
    world.give(context_of("exit 0"))
    world.disks.check()
    await world.work.launch(CONTAINER)
    failed = await world.notes.next()
    assert isinstance(failed, LaunchFailed)
    assert failed.exit_status == ContainerExitStatus.DISKS_FAILED
    assert "Most of the disks failed. 1/1 local-dirs usable space" in failed.diagnostics


async def test_deaf_script_is_killed_and_leaves_nothing(world: World) -> None:
    world.give(context_of("trap '' TERM; (setsid sleep 100 &); touch deaf; sleep 100"))
    await world.work.localize(CONTAINER)
    assert await world.notes.next() == Localized()
    pod = await world.pod()
    await world.work.launch(CONTAINER)
    assert isinstance(await world.notes.next(), Launched)
    await eventually(lambda: (world.work_dir / "deaf").exists())
    world.notes.container = replace(world.notes.container, state=State.KILLING)
    await world.work.terminate(CONTAINER, None)
    killed = await world.notes.next()
    assert isinstance(killed, Exited)
    assert "Container killed on request. Exit code is 137" in killed.diagnostics
    await world.work.remove_traces(CONTAINER)
    await eventually(lambda: not world.work_dir.exists())
    assert not (world.root / "handover" / pod.directory.name).exists()
    await pod.destroy()


@pytest.mark.parametrize("shuffle", [(("service", "spark-decommission"),), ()])
async def test_master_has_time_to_clean_up_where_its_queue_says_how_shuffle_is_done(
    world: World, shuffle: tuple[tuple[str, str], ...]
) -> None:
    """Twenty times what others have between TERM and KILL, and no shell that ends before Java does."""
    world.notes.container = replace(world.notes.container, is_master=True, shuffle=shuffle)
    java = world.source(
        "java", "#!/bin/bash\ntrap 'sleep 1; touch $1/cleaned; exit 0' TERM\ntouch here\nwhile :; do sleep 0.01; done\n"
    )
    (world.root / "bin").mkdir()
    java.rename(world.root / "bin" / "java").chmod(0o755)
    context = context_of("A=1")
    context.command.extend([f"{world.root}/bin/java", "<LOG_DIR>", "1>", "<LOG_DIR>/stdout"])
    world.give(context)
    await world.work.localize(CONTAINER)
    assert await world.notes.next() == Localized()
    pod = await world.pod()
    await world.work.launch(CONTAINER)
    assert isinstance(await world.notes.next(), Launched)
    await eventually(lambda: (world.work_dir / "here").exists())
    world.notes.container = replace(world.notes.container, state=State.KILLING)
    await world.work.terminate(world.notes.container.container_id, None)
    assert isinstance(await world.notes.next(), Exited)
    assert (Path(world.notes.container.log_dir) / "cleaned").exists() == bool(shuffle)
    await world.work.remove_traces(CONTAINER)
    await pod.destroy()


async def test_more_files_for_a_running_container(world: World) -> None:
    world.give(context_of("exec sleep 100"))
    await world.work.localize(CONTAINER)
    more = pb.ContainerLaunchContextProto()
    add_resource(more, "sub//more/", world.source("more", "more"))
    gone = world.source("gone", "gone")
    add_resource(more, "gone", gone)
    gone.unlink()
    world.notes.container = replace(world.notes.container, state=State.RUNNING)
    here, missing = (
        tuple(one for one in wanted(more.localResources) if one.link == link) for link in ("sub//more/", "gone")
    )
    world.work.expect_more(CONTAINER, (*here, *missing))
    assert {state for _, state, _ in world.work.localization_of(world.notes.container)} == {Localization.PENDING}
    await world.work.localize_more(CONTAINER, here)
    await world.work.localize_more(CONTAINER, missing)
    told = {link: (state, text) for link, state, text in world.work.localization_of(world.notes.container)}
    assert told["sub//more/"] == (Localization.COMPLETED, "")
    assert told["gone"][0] is Localization.FAILED
    assert "gone" in told["gone"][1]
    assert (world.work_dir / "sub/more").read_text() == "more"


async def test_more_files_by_a_wildcard_take_no_name_that_is_there(world: World) -> None:
    world.give(context_of("exec sleep 100"))
    await world.work.localize(CONTAINER)
    libs = world.root / "libs"
    libs.mkdir()
    world.source("libs/one.jar", "1")
    more = pb.ContainerLaunchContextProto()
    add_resource(more, "libs/*", libs)
    (world.work_dir / "one.jar").write_text("its own")
    asked = wanted(more.localResources)
    await world.work.localize_more(CONTAINER, asked)
    ((_, state, text),) = world.work.localization_of(world.notes.container)
    assert state is Localization.FAILED
    assert "'one.jar' of libs is taken" in text
    assert (world.work_dir / "one.jar").read_text() == "its own"
    (world.work_dir / "one.jar").unlink()
    await world.work.localize_more(CONTAINER, asked)
    assert (world.work_dir / "one.jar").read_text() == "1"
    assert not (world.work_dir / "libs").exists()


def test_more_files_have_a_maximum(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nm_plugin.container.resources.RESOURCES_MAX", 0)
    more = pb.ContainerLaunchContextProto()
    add_resource(more, "more", world.source("more", "more"))
    with pytest.raises(Refused):
        world.work.expect_more(CONTAINER, wanted(more.localResources))


@pytest.mark.parametrize("beyond", ["", "beyond its limit"])
async def test_what_the_kernel_killed_at_the_limit_was_beyond_its_memory(world: World, beyond: str) -> None:
    world.notes.beyond = beyond
    world.give(context_of("kill -KILL $$"))
    await world.work.localize(CONTAINER)
    assert await world.notes.next() == Localized()
    pod = await world.pod()
    await world.work.launch(CONTAINER)
    assert isinstance(await world.notes.next(), Launched)
    ended = await world.notes.next()
    assert isinstance(ended, Exited)
    status = ContainerExitStatus.KILLED_EXCEEDED_PMEM if beyond else ContainerExitStatus.FORCE_KILLED
    assert (ended.exit_status, "beyond its limit" in ended.diagnostics) == (status, bool(beyond))
    await pod.wait()


@pytest.mark.parametrize("script", ["exit 0", "exit 3", "kill -KILL $$"])
async def test_what_the_kernel_killed_in_a_container_that_went_on_is_told_and_no_end(world: World, script: str) -> None:
    world.notes.told = "one was ended"
    world.give(context_of(script))
    await world.work.localize(CONTAINER)
    assert await world.notes.next() == Localized()
    pod = await world.pod()
    await world.work.launch(CONTAINER)
    assert isinstance(await world.notes.next(), Launched)
    ended = await world.notes.next()
    assert isinstance(ended, Exited)
    assert ended.exit_status == {"exit 0": 0, "exit 3": 3}.get(script, ContainerExitStatus.FORCE_KILLED)
    assert ended.diagnostics.count("one was ended") == 1
    await pod.wait()
