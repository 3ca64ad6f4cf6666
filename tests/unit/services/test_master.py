from __future__ import annotations

import pytest

from tests.support.playbook import World, ask
from tests.support.rm_options import NODE_SIZE
from yodel.domain.ids import ContainerId
from yodel.domain.resource import EXTRA_AMOUNT_MAX, Resource
from yodel.errors import InvalidResourceRequest, TooMuchBlacklisted
from yodel.services.masters import beat
from yodel.services.masters import service as master_module
from yodel.services.masters.allocate import AllocateRequest, AllocateResult


async def test_beat_without_news_is_answered_synchronously(world: World) -> None:
    am = await world.running_am()
    await am.beat()
    result = world.rm.master.allocate(am.attempt_id, AllocateRequest(response_id=am.response_id, asks=[ask(1)]))
    assert isinstance(result, AllocateResult)
    assert result.pending_count == 1


async def test_nothing_that_is_shown_changes_in_silence(world: World) -> None:
    """Whoever keeps answers looks at the version and the heartbeats only."""
    am = await world.running_am()
    state, seen = world.rm.state, dict[tuple[int, int], object]()

    def look() -> None:
        runtime = state.masters.runtimes.get(am.attempt_id)
        usage = state.usage.by_application.get(am.application_id)
        used = (usage.resource, usage.containers) if usage is not None else None
        shown = (
            (runtime.dialogue.progress, runtime.wishes.asks.pending(), sorted(runtime.wishes.blacklist), used)
            if runtime
            else used
        )
        assert seen.setdefault((state.change_counters.version, state.change_counters.heartbeats), shown) == shown

    look()
    await am.beat(ask(3), blacklist_additions=["node-9"])
    look()
    await am.beat(progress=0.5)
    look()
    await world.settle()
    look()
    await world.bind_and_settle()
    look()
    assert len((await am.beat()).granted) > 0
    look()
    await am.finish()
    look()
    await am.exit()
    look()
    assert len(set(map(repr, seen.values()))) > 4


async def test_pending_and_cores_are_the_whole_clusters(world: World) -> None:
    """DefaultAMSProcessor reads the root queue's metrics."""
    first, second = await world.running_am(), await world.running_am()
    await second.beat(ask(3, priority=2), ask(40, capability=Resource(8192, 4)))
    await world.settle()
    answer = await first.beat(ask(2))
    assert (answer.pending_count, answer.active_cores) == (45, NODE_SIZE.vcores)

    waiting = await world.submit(am_capability=Resource(8192, 4))
    assert (await first.beat(ask(0))).pending_count == 44  # an ApplicationMaster that waits for its place is one
    await world.run(world.rm.submission.kill(waiting, "alice"))
    assert (await first.beat()).pending_count == 43

    await world.bind_and_settle()
    granted = len((await second.beat()).granted)
    assert granted > 0
    assert (await first.beat()).pending_count == 43 - granted
    await second.finish()
    await second.exit()
    assert (await first.beat()).pending_count == 0
    assert world.rm.state.masters.wanted.count == 0


async def test_beat_with_something_to_write_is_not(world: World) -> None:
    am = await world.running_am()
    await am.beat()
    request = AllocateRequest(response_id=am.response_id, releases=[ContainerId.of(am.attempt_id, 9)])
    assert world.rm.master.allocate(am.attempt_id, request) is None


@pytest.mark.parametrize("field", ["asks", "releases", "blacklist_additions"])
async def test_lists_of_a_beat_have_limits(world: World, monkeypatch: pytest.MonkeyPatch, field: str) -> None:
    for name in ("ASKS_PER_BEAT_MAX", "RELEASES_PER_BEAT_MAX", "BLACKLIST_MAX"):
        monkeypatch.setattr(beat, name, 2)
    am = await world.running_am()
    items = {
        "asks": [ask(1)] * 3,
        "releases": [ContainerId.of(am.attempt_id, n) for n in range(5, 8)],
        "blacklist_additions": ["a", "b", "c"],
    }
    with pytest.raises(InvalidResourceRequest, match="3 entries in one allocate call; at most 2"):
        await am.beat(**{field: items[field]}) if field != "asks" else await am.beat(*items["asks"])


async def test_blacklist_has_a_limit_and_what_is_beyond_it_is_refused_not_dropped(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beat, "BLACKLIST_MAX", 3)
    am = await world.running_am()
    runtime = world.rm.state.masters.runtimes[am.attempt_id]
    await am.beat(blacklist_additions=["a", "b"])
    with pytest.raises(TooMuchBlacklisted, match="4 names with those of earlier heartbeats; at most 3") as refused:
        await am.beat(ask(5), blacklist_additions=["b", "c", "d"])
    assert (refused.value.limit, refused.value.value, refused.value.maximum) == ("blacklist_names", 4, 3)
    assert (runtime.wishes.blacklist, world.rm.state.masters.wanted.count) == ({"a", "b"}, 0)
    await am.beat(blacklist_additions=["b", "c", "d"], blacklist_removals=["a"])
    assert runtime.wishes.blacklist == {"b", "c", "d"}


@pytest.mark.parametrize(
    ("amount", "words"), [(EXTRA_AMOUNT_MAX + 1, "maximum allowed allocation=2147483647"), (-1, "less than 0")]
)
async def test_further_resource_types_of_an_ask_have_a_maximum(world: World, amount: int, words: str) -> None:
    am = await world.running_am()
    await am.beat(ask(1, capability=Resource(1024, 1, (("example.com/gpu", EXTRA_AMOUNT_MAX),))))
    with pytest.raises(InvalidResourceRequest, match=words) as refused:
        await am.beat(ask(1, capability=Resource(1024, 1, (("example.com/gpu", amount),))))
    assert "Requested resource type=[example.com/gpu]" in str(refused.value)
    assert world.rm.state.masters.wanted.count == 1


async def test_grants_of_one_beat_have_a_limit_and_none_is_lost(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(master_module, "GRANTS_PER_BEAT_MAX", 2)
    am = await world.running_am()
    await am.beat(ask(5))
    await world.settle()
    await world.bind_and_settle()
    granted = [len((await am.beat()).granted) for _ in range(4)]
    assert granted == [2, 2, 1, 0]


async def test_headroom_is_what_the_cluster_has_left(world: World) -> None:
    am = await world.running_am()
    await am.obtain(3)
    result = await am.beat()
    assert (result.headroom.memory_mib, result.headroom.vcores) == (16_384 - 4 * 1024, 12)


async def test_unknown_releases_are_harmless(world: World) -> None:
    am = await world.running_am()
    assert not (await am.beat(releases=[ContainerId.of(am.attempt_id, 99)])).completed
