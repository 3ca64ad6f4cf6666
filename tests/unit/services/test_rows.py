from __future__ import annotations

from tests.support.fakes import NODE
from tests.support.playbook import World, ask


async def test_rows_are_shown_as_they_are_with_what_is_known_beside_them(world: World) -> None:
    am = await world.running_am()
    await am.beat(ask(2), blacklist_additions=["node-9"])
    rows = world.rm.queries.rows
    attempt = world.attempt(am.attempt_id)
    assert rows.master_of(attempt) == am.container
    assert rows.node_of(am.container) == world.rm.state.nodes[NODE]
    assert list(rows.live_on(NODE)) == [am.container]
    assert [line.count for line in rows.asks_of(am.attempt_id)] == [2]
    assert set(rows.blacklist_of(am.attempt_id)) == {"node-9"}


async def test_newest_come_first_and_the_living_are_known(world: World) -> None:
    first, second = await world.submit(), await world.submit()
    await world.run(world.rm.submission.kill(first, "alice"))
    await world.settle()
    rows = world.rm.queries.rows
    assert [row.id for row in rows.applications()] == [second, first]
    assert (rows.application_count, [row.id for row in rows.live_applications()]) == (2, [second])
    assert (rows.is_live(first), rows.is_live(second), rows.has_live_applications) == (False, True, True)
    assert set(rows.pages) == {0}


async def test_what_nobody_knows_is_nothing(world: World) -> None:
    am = await world.running_am()
    await world.run(world.rm.submission.kill(am.application_id, "alice"))
    await world.settle()
    rows = world.rm.queries.rows
    assert (rows.asks_of(am.attempt_id), rows.blacklist_of(am.attempt_id), rows.wait_of(am.container.id)) == (
        (),
        (),
        "",
    )
    versions = rows.versions
    await world.submit()
    assert rows.versions != versions
