"""The emergency at work on a made tree, with a clock that tests move: who is ended, and what is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from nm_plugin.capacity.emergency import EmergencyWatch
from nm_plugin.capacity.samples import Reading
from nm_plugin.cgroups.counters import CgroupCounters
from nm_plugin.cgroups.files import LostReading
from nm_plugin.cgroups.layout import BEST_EFFORT, BURSTABLE, PODS, V1, V2
from nm_plugin.container.life import Container, LifeState
from nm_plugin.host.users import FileThreads
from nm_plugin.launch import members
from tests.support.cgroup_tree import CgroupTree
from tests.support.made_proc import make_process
from tests.support.node_agent import container_id
from yodel.domain.colocation.report import MEMORY_MIB
from yodel.domain.ids import ContainerId
from yodel.domain.resource import Resource
from yodel.domain.states import ContainerExitStatus
from yodel.errors import Refused

SIZE_MIB = 2048
FULL = 1950


@dataclass
class World:
    """A node of two GiB; ``watch`` is the one whose memory is ``used_mib``."""

    tree: CgroupTree
    threads: FileThreads
    containers: list[Container] = field(default_factory=list)
    ended: list[tuple[ContainerId, int, str]] = field(default_factory=list)
    wakes: int = 0
    now: int = 0
    refuses: bool = False
    allocatable: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.watch = EmergencyWatch(
            self.tree.mount, "/n1", self, self.threads, self._all, self._end, self._changed, self.tree.proc
        )
        self.counters = CgroupCounters(self.tree.mount, "/n1", self.tree.proc)

    def now_ms(self) -> int:
        return self.now

    async def sleep(self, duration_ms: int) -> None:
        raise AssertionError("it does not sleep")

    def _all(self) -> list[Container]:
        return self.containers

    async def _end(self, container_id: ContainerId, exit_status: int, text: str) -> None:
        if self.refuses:
            raise Refused("no")
        self.ended.append((container_id, exit_status, text))
        self.containers = [one for one in self.containers if one.container_id != container_id]

    def _changed(self) -> None:
        self.wakes += 1

    def add(self, number: int, mib: int = 100, *, is_lent: bool = True, **changes: object) -> ContainerId:
        """A container that runs, in a pod of its own."""
        container = Container(
            container_id=container_id(number),
            user="alice",
            user_uid=1000,
            pod_uid=str(number),
            local_dir=f"/l/a/{number}",
            resource=Resource(512, 1),
            creation_ms=number,
            state=LifeState.RUNNING,
        )
        self.containers.append(replace(container, **changes))  # type: ignore[arg-type]
        self.pod(number, mib, BEST_EFFORT if is_lent else BURSTABLE)
        return container_id(number)

    def pod(self, number: int, mib: int, parent: tuple[str, ...] = BEST_EFFORT) -> None:
        self.tree.use((*parent, f"pod{number}"), cpu_us=0, memory_mib=mib)

    def marked(self, pid: int, number: int, pod: int) -> None:
        """A process that says it is a container's, in some pod."""
        marks = f"CONTAINER_ID={container_id(number)}\0LOCAL_DIRS=/l/a\0".encode()
        make_process(self.tree.proc, pid, uid=1000, environ=marks, pod=str(pod))

    def limit(self, names: tuple[str, ...], mib: int) -> None:
        number = self.tree.version.memory_limit
        self.tree.write(number.controller, self.tree.group(names), number.file, f"{mib << 20}\n")

    async def seconds(self, count: int, used_mib: int, pods_mib: int = 0) -> None:
        for _ in range(count):
            self.now += 1000
            self.tree.use((), cpu_us=0, memory_mib=used_mib)
            self.tree.use(PODS, cpu_us=0, memory_mib=pods_mib)
            counters = self.counters.read()
            await self.watch.take(Reading(at_ms=self.now, counters=counters, allocatable=self.allocatable))

    def order(self) -> list[ContainerId]:
        assert all(status == ContainerExitStatus.PREEMPTED for _, status, _ in self.ended)
        return [one for one, _, _ in self.ended]


@pytest.fixture
def world(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[World]:
    version = getattr(request, "param", V2)
    tree = CgroupTree(
        mount=tmp_path / "cgroup", proc=tmp_path / "proc", version=version, driver="cgroupfs", cgroup_root="/n1"
    ).make()
    threads = FileThreads(1)
    made = World(tree, threads)
    made.limit((), SIZE_MIB)
    yield made
    threads.close()


async def test_one_goes_each_four_seconds_newest_first_until_it_is_released(world: World) -> None:
    one, two, three = (world.add(number) for number in (11, 12, 13))
    await world.seconds(1, FULL)
    assert (world.ended, world.watch.told(), world.wakes) == ([], None, 0)
    await world.seconds(5, FULL)
    assert world.order() == [three, two]
    assert one not in world.order()
    await world.seconds(9, 1000)
    told = world.watch.told()
    assert told is not None
    assert (told.cool_down_s, told.containers, world.wakes) == (51, (three, two), 2)
    assert told.reason == "node memory 1.9 GiB of 2.0 GiB (95 %)"
    (_, _, text), _ = world.ended
    assert text == f"Container preempted by its node: {told.reason}; it is the newest."
    await world.seconds(51, 1000)
    assert world.watch.told() is None


@pytest.mark.parametrize("world", [V1, V2], indirect=True, ids=lambda version: version.name)
async def test_batch_goes_before_the_kubelet_evicts_where_it_keeps_memory_from_pods(world: World) -> None:
    """Half of the node is free: pods may not use it."""
    one, two = (world.add(number) for number in (11, 12))
    world.limit(PODS, 1000)
    await world.seconds(9, used_mib=900, pods_mib=899)
    assert world.ended == []
    await world.seconds(2, used_mib=950, pods_mib=900)
    assert world.order() == [two]
    assert "Container preempted by its node: kubepods memory 0.9 GiB of 1.0 GiB (90 %); " in world.ended[0][2]
    await world.seconds(9, used_mib=900, pods_mib=850)
    world.allocatable = {MEMORY_MIB: 900}
    await world.seconds(1, used_mib=900, pods_mib=810)
    assert world.order() == [two]
    await world.seconds(1, used_mib=900, pods_mib=810)
    assert world.order() == [two, one], "of its limit the kubelet keeps 100 MiB free"


async def test_the_order_is_the_resource_manager_s_until_it_says_another(world: World) -> None:
    one, two, three = (world.add(number) for number in (11, 12, 13))
    world.watch.rank([two, one, three])
    world.watch.rank([])
    await world.seconds(2, FULL)
    await world.seconds(8, FULL)
    assert world.order() == [two, one, three]
    assert "it is number 1 of 3 in the order of preemption" in world.ended[0][2]


async def test_only_containers_on_lent_capacity_go(world: World) -> None:
    world.add(11, is_lent=False)
    await world.seconds(9, FULL)
    assert world.ended == []
    told = world.watch.told()
    assert told is not None, "nothing new is to start there all the same"
    hidden = world.add(12, is_lent=False)
    world.watch.rank([hidden])
    await world.seconds(1, FULL)
    assert world.order() == [hidden], "the ResourceManager knows, whatever its processes look like"


async def test_who_uses_more_than_granted_goes_first_and_of_the_others_a_master_last(world: World) -> None:
    one, greedy = world.add(11), world.add(12, 600)
    master = world.add(13, is_master=True)
    world.watch.rank([master, one, greedy])
    await world.seconds(10, FULL)
    assert world.order() == [greedy, one, master]
    assert "it uses 24 MiB more than its limit" in world.ended[0][2], "512 MiB, and 64 beside"


async def test_a_master_over_its_size_goes_before_all_who_are_not(world: World) -> None:
    one, master = world.add(11), world.add(13, 900, is_master=True)
    world.watch.rank([one, master])
    await world.seconds(2, FULL)
    assert world.order() == [master]
    assert "it uses 324 MiB more" in world.ended[0][2]


async def test_a_foreign_pod_that_names_a_container_has_nobody_ended_and_hides_nobody(world: World) -> None:
    """Neither one that runs in a pod of another class, nor one that is within its size in its own."""
    world.add(11, is_lent=False)
    world.pod(21, 1500)
    world.marked(100, 11, pod=21)
    within, greedy = world.add(12), world.add(13, 600)
    world.marked(101, 12, pod=21)
    await world.seconds(2, FULL)
    assert world.order() == [greedy]
    await world.seconds(9, FULL)
    assert world.order() == [greedy, within]


async def test_a_container_of_before_the_upgrade_goes_by_its_marks(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = world.add(11, pod_uid=""), world.add(12, 600, pod_uid="")
    hidden = world.add(13, pod_uid="", is_lent=False)
    for number in (11, 12):
        world.marked(100 + number, number, pod=number)
    await world.seconds(9, FULL)
    assert world.order() == [two, one]
    crowd = world.add(14, pod_uid="")
    world.watch.rank([hidden, crowd])
    monkeypatch.setattr(members, "LOOKED_AT_MAX", 1)
    await world.seconds(4, FULL)
    assert "it uses 1 MiB more" in world.ended[-1][2], "what could not be looked at counts as over"


async def test_the_last_one_is_waited_for_until_it_has_gone(world: World) -> None:
    world.add(11)
    going = world.add(12)
    world.add(13, state=LifeState.KILLING)
    await world.seconds(2, FULL)
    world.containers.append(Container(container_id=going, user="alice", resource=Resource(512, 1)))
    await world.seconds(20, FULL)
    assert world.order() == [going], "who was on its way out already is neither ended nor waited for"
    world.containers.pop()
    await world.seconds(1, FULL)
    assert world.order() == [going, container_id(11)]


async def test_a_lost_or_absurd_reading_ends_nobody(world: World) -> None:
    world.add(11)
    await world.seconds(1, FULL)
    await world.watch.take(LostReading("torn"))
    await world.seconds(1, FULL)
    await world.seconds(5, SIZE_MIB * 2)
    assert (world.ended, world.watch.told()) == ([], None)


async def test_stalls_are_read_from_the_kernel_s_own_file(world: World) -> None:
    world.add(11)
    await world.seconds(2, 1800)
    text = "some avg10=90.00 avg60=0 avg300=0 total=1\nfull avg10=40.00 avg60=0.00 avg300=0.00 total=1\n"
    world.tree.write("", world.tree.group(), "memory.pressure", text)
    await world.seconds(5, 1700)
    assert world.watch.told() is None, "memory is not short"
    await world.seconds(2, 1800)
    assert len(world.ended) == 1
    assert "stalled 40 % of the time" in world.ended[0][2]


async def test_what_cannot_be_ended_is_tried_again_and_the_end_of_lending_forgets_it(world: World) -> None:
    world.add(11)
    world.refuses = True
    await world.seconds(3, FULL)
    assert world.ended == []
    world.refuses = False
    await world.seconds(1, FULL)
    assert len(world.ended) == 1
    world.watch.stop()
    assert world.watch.told() is None


async def test_who_has_ended_does_not_go_and_who_is_not_known_only_by_his_rank(world: World) -> None:
    world.add(11, state=LifeState.DONE)
    unknown, known = world.add(12, user_uid=None, pod_uid=""), world.add(13)
    await world.seconds(9, FULL)
    assert world.order() == [known]
    world.watch.rank([unknown])
    await world.seconds(1, FULL)
    assert world.order() == [known, unknown]
