"""Whatever is changed of the queues in whatever order: rows are what their words say, every version is what it was, and
a restart finds the same."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.playbook import World
from yodel.domain.queues.moving import moved
from yodel.domain.queues.pools import PoolName, Pools
from yodel.domain.queues.properties import ONE_POOL, Described, Present, described
from yodel.domain.queues.removal import mark_of
from yodel.domain.queues.words import said_properties
from yodel.domain.scheduler_conf import PREFIX, ConfUpdate, QueueUpdate, assembled
from yodel.errors import ChangeNotFound, Refused
from yodel.services.scheduling.configuration import Wanted, assembling, replacing

PATHS = ("root.default", "root.a", "root.b", "root.a.x", "root.a.y", "root.b.x")
SAID = {
    "capacity": ["0w", "1w", "2w", "2.0w", "50", "[memory=1024,vcores=2]", "[memory=20%,vcores=1w]"],
    "state": ["STOPPED", "RUNNING", ""],
    "maximum-capacity": ["50", "100", "-1", "[memory=4096]"],
    "user-limit-factor": ["1", "2", "-1"],
    "user-settings.alice.weight": ["0.5", "1", ""],
    "disable_preemption": ["true", ""],
    "acl_administer_queue": [" ", "alice", ""],
    "maximum-applications": ["7", ""],
    "priority": ["-1", "0", "3", ""],
    "ordering-policy": ["priority-utilization", "utilization", "fair", ""],
    "max-parallel-apps": ["0", "2", "2147483647", ""],
    "maximum-application-lifetime": ["60", "-1", ""],
    "yodel.remote-shuffle.service": ["none", "spark-decommission", ""],
    "yodel.remote-shuffle.when-away": ["spark", "fail", ""],
}
OVERALL = {
    "maximum-applications": ["10", "20"],
    "max-parallel-apps": ["3", ""],
    "legacy-queue-mode.enabled": ["true", "false"],
    "root.a.window.day.maximum-capacity": ["40", "50", ""],
    "root.c.capacity": ["1"],  # of no queue
}
WINDOW = {"window.day.cron": "0 8 * * *", "window.day.duration-s": "60", "window.day.maximum-capacity": "40"}
TREE = {
    f"{PREFIX}{name}": text
    for name, text in {
        "root.queues": "default,a",
        "legacy-queue-mode.enabled": "false",
        "root.a.queues": "x,y",
        **{f"{path}.capacity": "1w" for path in ("root.default", "root.a", "root.a.x", "root.a.y")},
    }.items()
}
"""The tree with which most lives begin: weights always add up."""
paths = st.sampled_from(PATHS)
properties = st.dictionaries(st.sampled_from(sorted(SAID)), st.none(), max_size=3).flatmap(
    lambda names: st.fixed_dictionaries({name: st.sampled_from(SAID[name]) for name in names})
)
changes = st.builds(lambda path, said: QueueUpdate(path=path, properties=said), paths, properties)
additions = st.builds(
    lambda path, said: QueueUpdate(path=path, properties={"capacity": "1w", **said}), paths, properties
)
stops = st.builds(lambda path: ConfUpdate(updated=[QueueUpdate(path=path, properties={"state": "STOPPED"})]), paths)
windows = st.builds(lambda path: QueueUpdate(path=path, properties=WINDOW), paths)
overall = st.sampled_from(sorted(OVERALL)).flatmap(
    lambda name: st.sampled_from(OVERALL[name]).map(lambda text: {PREFIX + name: text})
)
updates = st.builds(
    lambda removed, added, updated, overall: ConfUpdate(removed=removed, added=added, updated=updated, overall=overall),
    st.lists(paths, max_size=1),
    st.lists(additions, max_size=1),
    st.lists(changes | windows, max_size=3),
    st.just({}) | overall,
)
POOLS = (ONE_POOL, Pools(by_child={"root.a": PoolName("batch")}), None)
steps = st.one_of(
    updates,
    stops,
    st.builds(lambda path: ConfUpdate(removed=[path]), paths),
    st.sampled_from(["restart", "format", "ends", "look", *(f"submit {path}" for path in PATHS)]),
    st.integers(1, 3),
    st.tuples(paths, paths),
)


@settings(max_examples=150, deadline=None)
@given(st.booleans(), st.lists(steps, min_size=3, max_size=15))
def test_every_version_is_what_it_was(is_grown: bool, drawn: list[object]) -> None:
    asyncio.run(_lived([TREE, *drawn] if is_grown else drawn))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(updates | stops, st.sampled_from(POOLS)), min_size=2, max_size=8))
def test_a_changed_tree_is_described_as_one_without_a_past(drawn: list[tuple[ConfUpdate, Pools | None]]) -> None:
    present = Present(TREE, {queue.path: queue for queue in described(TREE).queues})
    for update, pools in drawn:
        try:
            wanted = assembled(present.properties, update)
        except Refused:
            continue
        found = _outcome(wanted, pools, present)
        assert found == _outcome(wanted, pools)
        if isinstance(found, Described):
            present = Present(wanted, {queue.path: queue for queue in found.queues})


def _outcome(wanted: Mapping[str, str], pools: Pools | None, *present: Present) -> Described | tuple[str, list[str]]:
    try:
        return described(wanted, pools, *present)
    except Refused as error:
        return str(error), getattr(error, "__notes__", [])


async def _lived(drawn: list[object]) -> None:
    async with World() as world:
        was: dict[int, Mapping[str, str]] = {1: dict(world.rm.scheduler_conf.properties())}
        for step in drawn:
            before = world.rm.scheduler_conf.version
            try:
                await _step(world, step)
            except (Refused, ChangeNotFound):
                assert world.rm.scheduler_conf.version == before
            conf = world.rm.scheduler_conf
            assert conf.version - before in ((0, 1, 2, 3) if step == "look" else (0, 1))
            live = {row.submission.queue for row in world.rm.state.applications.values() if not row.state.is_final}
            assert live <= conf_paths(world), "a queue that is in use has gone"
            assert was.setdefault(conf.version, dict(conf.properties())) == conf.properties()
            _require_rows_say_what_they_are(world)
        await _step(world, "ends")
        await _step(world, "look")
        assert not any(map(mark_of, world.rm.state.queues.values())), "a marked queue that is empty stays"
        was[world.rm.scheduler_conf.version] = dict(world.rm.scheduler_conf.properties())
        for version, properties_then in was.items():
            assert await world.rm.scheduler_conf.as_of(version) == (max(was), properties_then)


def conf_paths(world: World) -> set[str]:
    assert {*world.disk.queues} == {*world.rm.state.queues}
    return {*world.rm.state.queues}


async def _step(world: World, step: object) -> None:
    conf = world.rm.scheduler_conf
    wanted: Wanted
    if step == "look":
        await world.run(world.rm.marked_queues.look())
        return
    if step == "ends":
        for application_id, row in list(world.rm.state.applications.items()):
            if not row.state.is_final:
                await world.run(world.rm.submission.kill(application_id, "alice"))
        return
    if isinstance(step, str) and step.startswith("submit "):
        await world.submit(queue=step.removeprefix("submit "))
        return
    if step == "restart":
        await world.restart()
        return
    if step == "format":
        await world.run(conf.format("admin"))
        return
    if isinstance(step, int):
        now, properties_then = await conf.as_of(step)
        await world.run(conf.change("admin", replacing(properties_then), expected=now, is_whole=True))
        return
    if step is TREE:
        await world.run(conf.change("admin", replacing(TREE), is_whole=True))
        return
    if isinstance(step, tuple):
        path, to = step

        def wanted(present: Mapping[str, str]) -> Mapping[str, str]:
            return moved(present, path, to)
    else:
        assert isinstance(step, ConfUpdate)
        wanted = assembling(step)
    await world.run(conf.change("admin", wanted))


def _require_rows_say_what_they_are(world: World) -> None:
    rows = world.rm.state.queues
    said = said_properties(rows.values())
    assert said == world.rm.state.scheduler_conf.mapping()
    if said:
        assert {queue.path: queue for queue in described(said).queues} == rows
