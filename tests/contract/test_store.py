"""Every store keeps its promises (``yodel.ports.store``): the one in memory, SQLite and a real PostgreSQL are tried."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from tests.support.records import (
    INT32_MAX,
    INT64_MAX,
    a_container,
    a_container_id,
    a_node,
    a_submission,
    an_application,
    an_application_id,
    an_attempt,
    an_attempt_id,
)
from tests.support.store_opening import Open, parents_of, stored
from tests.support.stores import Place
from yodel.domain.delegation_token import DelegationToken
from yodel.domain.ids import NodeId
from yodel.domain.queues.amounts import Part, Unit
from yodel.domain.queues.queue import Queue, QueueState, default_queues
from yodel.domain.scheduler_conf import SchedulerConf, SchedulerProperty
from yodel.domain.states import (
    ApplicationState,
    AttemptState,
    ContainerState,
    NodeState,
)
from yodel.domain.tokens import MasterKey
from yodel.ports.store import Commit, FencedOut, Row
from yodel.store.errors import OrphanRow

MANY = 3_000


# --- opening -------------------------------------------------------------------------------------------------------


async def test_new_store_has_the_opening_time_as_cluster_timestamp_and_epoch_zero(open_store: Open) -> None:
    _, snapshot = await open_store(now_ms=1_700_000_000_123)

    assert snapshot.identity.cluster_timestamp_ms == 1_700_000_000_123
    assert snapshot.identity.epoch == 0
    assert snapshot.identity.application_sequence == 0


async def test_new_store_starts_with_the_default_queues_and_nothing_else(open_store: Open) -> None:
    _, snapshot = await open_store()

    assert snapshot.queues == default_queues()
    assert (snapshot.applications, snapshot.attempts, snapshot.containers) == ((), (), ())
    assert (snapshot.nodes, snapshot.master_keys) == ((), ())


async def test_every_opening_counts_the_epoch_and_keeps_the_cluster_timestamp(open_store: Open) -> None:
    identities = [(await open_store(now_ms=now_ms))[1].identity for now_ms in (10, 20, 30)]

    assert [identity.epoch for identity in identities] == [0, 1, 2]
    assert {identity.cluster_timestamp_ms for identity in identities} == {10}


async def test_reopening_keeps_changed_queues_and_does_not_bring_defaults_back(open_store: Open) -> None:
    store, _ = await open_store()
    stopped = Queue(path="root.default", state=QueueState.STOPPED, capacity_percent=12.5, maximum_capacity_percent=99.9)
    await store.commit(Commit(rows=[stopped, Queue(path="root.ünï", is_leaf=True)]))

    queues = (await stored(open_store)).queues

    assert queues == (Queue(path="root", is_leaf=False), stopped, Queue(path="root.ünï"))


async def test_queue_that_is_removed_is_gone_and_the_configuration_stays(open_store: Open) -> None:
    store, snapshot = await open_store()
    assert snapshot.scheduler_conf == SchedulerConf()
    conf = SchedulerConf(version=3, properties=(SchedulerProperty("a", "1"), SchedulerProperty("b", "ü\n")))
    guarded = Queue(path="root.a", submit_acl="", administer_acl="carol", maximum_parallel_applications=0)
    amounts = (Part("memory-mb", 10240.0, Unit.ABSOLUTE), Part("vcores", 12.5, Unit.PERCENT))
    guarded = replace(guarded, priority=-2, is_by_priority=True, capacity_amounts=amounts, maximum_amounts=amounts[:1])
    await store.commit(Commit(rows=[conf, guarded], removed_queues=["root.default", "root.never"]))

    found = await stored(open_store)

    assert (found.scheduler_conf, found.queues) == (conf, (Queue(path="root", is_leaf=False), guarded))


async def test_stores_that_open_at_the_same_moment_get_different_epochs(open_store: Open) -> None:
    opened = await asyncio.gather(*(open_store() for _ in range(4)))

    assert sorted(snapshot.identity.epoch for _, snapshot in opened) == [0, 1, 2, 3]
    assert all(snapshot.queues == default_queues() for _, snapshot in opened)


async def test_same_store_can_be_opened_again_after_close(place: Place) -> None:
    store = place.new_store()
    await store.open(now_ms=1, default_queues=())
    await store.close()

    again = await store.open(now_ms=2, default_queues=())
    await store.commit(Commit(application_sequence=1))
    await store.close()

    assert again.identity.epoch == 1


async def test_closing_twice_and_closing_unopened_is_harmless(place: Place) -> None:
    store = place.new_store()
    await store.close()
    await store.open(now_ms=1, default_queues=())
    await store.close()
    await store.close()


# --- replacing -----------------------------------------------------------------------------------------------------


async def test_committed_row_replaces_the_one_with_its_identifier(open_store: Open) -> None:
    store, _ = await open_store()
    await store.commit(Commit(rows=[*parents_of(), a_container(), a_node()]))
    finished = an_application(state=ApplicationState.FINISHED, submission=a_submission(tags=("t",), context=b""))
    ended = an_attempt(state=AttemptState.FINISHED, am_container_id=None)
    completed = a_container(state=ContainerState.COMPLETED, node_id=NodeId("n", 1))
    lost = a_node(state=NodeState.LOST)
    await store.commit(Commit(rows=[finished, ended, completed, lost]))

    snapshot = await stored(open_store)

    assert (snapshot.applications, snapshot.attempts) == ((finished,), (ended,))
    assert (snapshot.containers, snapshot.nodes) == ((completed,), (lost,))


async def test_replacing_an_application_keeps_what_belongs_to_it(open_store: Open) -> None:
    store, _ = await open_store()
    await store.commit(Commit(rows=[*parents_of(), a_container()]))
    await store.commit(Commit(rows=[an_application(diagnostics="changed")]))
    await store.commit(Commit(rows=[an_attempt(diagnostics="changed")]))

    snapshot = await stored(open_store)

    assert len(snapshot.attempts) == len(snapshot.containers) == 1


async def test_last_of_equal_identifiers_in_one_commit_wins(open_store: Open) -> None:
    store, _ = await open_store()
    await store.commit(Commit(rows=[an_application(diagnostics=text) for text in ("first", "second", "last")]))

    assert (await stored(open_store)).applications == (an_application(diagnostics="last"),)


async def test_repeated_commit_changes_nothing(open_store: Open) -> None:
    commit = Commit(
        rows=[*parents_of(1), *parents_of(2), a_container(), a_node()],
        master_keys=[("nm", MasterKey(key_id=1, secret=b"k"))],
        application_sequence=2,
        removed_applications=[an_application_id(2)],
    )
    store, _ = await open_store()
    await store.commit(commit)
    once = await stored(open_store)
    store, _ = await open_store()
    await store.commit(commit)

    twice = await stored(open_store)

    assert replace(twice, identity=once.identity) == once


# --- removing ------------------------------------------------------------------------------------------------------


async def test_delegation_tokens_and_their_keys_come_and_go(open_store: Open) -> None:
    store, _ = await open_store()
    tokens = [DelegationToken(sequence=n, identifier=bytes([n]), expires_ms=n) for n in (2, 1, 3)]
    keys = [("delegation", MasterKey(key_id=n, secret=b"k")) for n in (1, 2)]
    await store.commit(Commit(rows=tokens, master_keys=keys, delegation_sequence=3))

    await store.commit(
        Commit(
            rows=[replace(tokens[1], expires_ms=9)],
            removed_delegation_tokens=[3],
            removed_master_keys=[("delegation", 1), ("delegation", 7)],
            delegation_sequence=2,
        )
    )

    snapshot = await stored(open_store)
    assert snapshot.delegation_tokens == (replace(tokens[1], expires_ms=9), tokens[0])
    assert snapshot.master_keys == (keys[1],)
    assert snapshot.identity.delegation_sequence == 3


async def test_removed_application_takes_its_attempts_and_containers_along(open_store: Open) -> None:
    store, _ = await open_store()
    rows = [row for n in (1, 2) for row in (*parents_of(n), an_attempt(n, 2), a_container(n), a_container(n, 2))]
    await store.commit(Commit(rows=rows))
    await store.commit(Commit(removed_applications=[an_application_id(1)]))

    snapshot = await stored(open_store)

    assert snapshot.applications == (an_application(2),)
    assert snapshot.attempts == (an_attempt(2), an_attempt(2, 2))
    assert snapshot.containers == (a_container(2), a_container(2, 2))


async def test_removed_attempt_takes_its_containers_along_and_leaves_its_application(open_store: Open) -> None:
    store, _ = await open_store()
    await store.commit(Commit(rows=[*parents_of(), an_attempt(1, 2), a_container(), a_container(1, 2)]))
    await store.commit(Commit(removed_attempts=[an_attempt_id(1, 1)]))

    snapshot = await stored(open_store)

    assert snapshot.applications == (an_application(),)
    assert snapshot.attempts == (an_attempt(1, 2),)
    assert snapshot.containers == (a_container(1, 2),)


async def test_removed_container_is_the_only_one_gone(open_store: Open) -> None:
    store, _ = await open_store()
    await store.commit(Commit(rows=[*parents_of(), a_container(container=2), a_container(container=3)]))
    await store.commit(Commit(removed_containers=[a_container_id(container=2)]))

    snapshot = await stored(open_store)

    assert snapshot.containers == (a_container(container=3),)
    assert snapshot.attempts == (an_attempt(),)


async def test_removing_what_is_not_there_is_harmless(open_store: Open) -> None:
    store, _ = await open_store()
    await store.commit(Commit(rows=parents_of()))
    await store.commit(
        Commit(
            removed_applications=[an_application_id(9)],
            removed_attempts=[an_attempt_id(9)],
            removed_containers=[a_container_id(9)],
        )
    )

    assert (await stored(open_store)).applications == (an_application(),)


async def test_what_is_written_and_removed_in_one_commit_is_gone(open_store: Open) -> None:
    store, _ = await open_store()
    await store.commit(Commit(rows=[*parents_of(), a_container()], removed_applications=[an_application_id()]))

    snapshot = await stored(open_store)

    assert (snapshot.applications, snapshot.attempts, snapshot.containers) == ((), (), ())


async def test_thousands_are_removed_in_one_commit(open_store: Open) -> None:
    """More than SQLite's limit of variables in a statement."""
    numbers = range(2, 40_002, 4)
    store, _ = await open_store()
    await store.commit(Commit(rows=[*parents_of(), *(a_container(container=n) for n in numbers)]))
    await store.commit(Commit(removed_containers=[a_container_id(container=n) for n in range(2, 40_002)]))

    assert (await stored(open_store)).containers == ()


# --- all or nothing ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("orphan", [an_attempt(9), a_container(1, 9)])
async def test_commit_with_an_orphan_is_refused_and_leaves_nothing_behind(open_store: Open, orphan: Row) -> None:
    store, _ = await open_store()
    await store.commit(Commit(rows=parents_of()))
    with pytest.raises(OrphanRow):
        await store.commit(
            Commit(
                rows=[an_application(2), a_container(), a_node(), orphan],
                master_keys=[("nm", MasterKey(key_id=1, secret=b"k"))],
                application_sequence=77,
            )
        )

    snapshot = await stored(open_store)

    assert (snapshot.applications, snapshot.attempts) == ((an_application(),), (an_attempt(),))
    assert (snapshot.containers, snapshot.nodes, snapshot.master_keys) == ((), (), ())
    assert snapshot.identity.application_sequence == 0


async def test_store_works_on_after_a_refused_commit(open_store: Open) -> None:
    store, _ = await open_store()
    with pytest.raises(OrphanRow):
        await store.commit(Commit(rows=[an_attempt()]))
    await store.commit(Commit(rows=parents_of()))

    assert (await stored(open_store)).attempts == (an_attempt(),)


async def test_commits_made_at_the_same_moment_all_happen(open_store: Open) -> None:
    store, _ = await open_store()
    await asyncio.gather(*(store.commit(Commit(rows=parents_of(n), application_sequence=n)) for n in range(1, 21)))

    snapshot = await stored(open_store)

    assert len(snapshot.applications) == len(snapshot.attempts) == snapshot.identity.application_sequence == 20


# --- fencing -------------------------------------------------------------------------------------------------------


async def test_second_opener_fences_the_first(open_store: Open) -> None:
    first, _ = await open_store()
    second, _ = await open_store()
    with pytest.raises(FencedOut):
        await first.commit(Commit(rows=[an_application(1)], application_sequence=1))
    await second.commit(Commit(rows=[an_application(2)]))

    snapshot = await stored(open_store)

    assert snapshot.applications == (an_application(2),)
    assert snapshot.identity.application_sequence == 0


async def test_fenced_store_stays_fenced_when_its_successor_has_closed(open_store: Open) -> None:
    first, _ = await open_store()
    second, _ = await open_store()
    await second.close()

    for _ in range(2):
        with pytest.raises(FencedOut):
            await first.commit(Commit(rows=[an_application()]))


async def test_empty_commit_of_a_fenced_store_tells_it_so(open_store: Open) -> None:
    first, _ = await open_store()
    await first.commit(Commit())
    await open_store()

    with pytest.raises(FencedOut):
        await first.commit(Commit())


# --- commits by number ---------------------------------------------------------------------------------------------


async def test_last_commit_is_the_last_that_happened_and_had_a_number(open_store: Open) -> None:
    store, snapshot = await open_store()
    assert (snapshot.identity.last_commit, await store.last_commit()) == (0, 0)
    await store.commit(Commit(rows=parents_of(), number=7))
    await store.commit(Commit(rows=[an_application(2)]))
    with pytest.raises(OrphanRow):
        await store.commit(Commit(rows=[an_attempt(9)], number=8))

    assert await store.last_commit() == 7
    assert (await stored(open_store)).identity.last_commit == 7


async def test_commit_without_rows_has_its_number(open_store: Open) -> None:
    store, _ = await open_store()
    await store.commit(Commit(number=INT64_MAX))

    assert await store.last_commit() == INT64_MAX


async def test_fenced_store_is_not_told_the_last_commit(open_store: Open) -> None:
    first, _ = await open_store()
    second, _ = await open_store()
    await second.commit(Commit(number=1))

    with pytest.raises(FencedOut):
        await first.last_commit()


# --- application numbers -------------------------------------------------------------------------------------------


async def test_reserved_application_numbers_outlive_a_restart(open_store: Open) -> None:
    store, _ = await open_store()
    await store.commit(Commit(application_sequence=INT32_MAX))
    await store.commit(Commit(rows=[an_application()]))

    assert (await stored(open_store)).identity.application_sequence == INT32_MAX


async def test_reservation_never_goes_back(open_store: Open) -> None:
    store, _ = await open_store()
    await store.commit(Commit(application_sequence=100))
    await store.commit(Commit(application_sequence=50))

    assert (await stored(open_store)).identity.application_sequence == 100


# --- size ----------------------------------------------------------------------------------------------------------


async def test_thousands_of_containers_are_written_at_once_and_read(open_store: Open) -> None:
    containers = tuple(a_container(container=n, node_id=NodeId(f"node-{n % 50}", 8041)) for n in range(2, MANY + 2))
    store, _ = await open_store()
    await store.commit(Commit(rows=[*parents_of(), *containers]))

    snapshot = await stored(open_store)

    assert snapshot.containers == containers
