"""Rendered applications are kept within a bound until something of them changes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.records import a_container, a_node, an_application, an_attempt
from tests.support.rest_world import RestWorld
from yodel.domain.states import ApplicationState, ContainerState, NodeState
from yodel.rm_api.hadoop import rendered
from yodel.rm_api.hadoop.rendered import RenderedApplications, RenderedPage
from yodel.services.applications.log_aggregation import LogAggregationReport, LogAggregationStatus
from yodel.services.views.queries import ApplicationView

ROWS = [an_application(n, state=ApplicationState.FAILED, finished_ms=2000) for n in (1, 2, 3)]


class Kept:
    """Applications rendered as ``<sequence>;``, and how often."""

    def __init__(self, world: RestWorld) -> None:
        self.rendered: list[int] = []
        self.pages = RenderedApplications(world.rm.queries, world.rm.log_aggregation, self._render)

    def _render(self, view: ApplicationView) -> bytes:
        self.rendered.append(view.application.id.sequence)
        return f"{view.application.id.sequence};".encode()

    def page(self) -> RenderedPage:
        found = self.pages.page(0)
        assert found is not None
        return found


@pytest.fixture
def kept(world: RestWorld) -> Kept:
    return Kept(world)


async def test_nothing_that_did_not_change_is_rendered_again(world: RestWorld, kept: Kept) -> None:
    await world.put(*ROWS)
    assert kept.page().body == b"3;2;1;"
    assert kept.page() is kept.page()
    await world.put(replace(ROWS[1], diagnostics="other"))
    assert kept.page().body == b"3;2;1;"
    assert kept.rendered == [3, 2, 1, 2]


async def test_one_application_is_a_part_of_its_page(world: RestWorld, kept: Kept) -> None:
    await world.put(*ROWS)
    assert kept.pages.application(ROWS[0].id) is None
    kept.page()
    assert kept.pages.application(ROWS[1].id) == b"2;"
    assert kept.pages.application(an_application(9).id) is None
    await world.put(replace(ROWS[2], diagnostics="other"))
    assert kept.pages.application(ROWS[1].id) is None


async def test_living_ones_are_on_no_page(world: RestWorld, kept: Kept) -> None:
    await world.put(ROWS[0], an_application(2, state=ApplicationState.RUNNING))
    assert (kept.page().body, kept.page().is_whole) == (b"1;", False)
    await world.put(ROWS[1])
    assert (kept.page().body, kept.page().is_whole) == (b"2;1;", True)


async def test_containers_that_end_later_count(world: RestWorld, kept: Kept) -> None:
    container = a_container(state=ContainerState.RUNNING)
    await world.put(ROWS[0], an_attempt(), container)
    kept.page()
    await world.put(replace(container, state=ContainerState.COMPLETED, finished_ms=container.created_ms + 9_000))
    kept.page()
    assert kept.rendered == [1, 1]


async def test_address_of_the_masters_node_counts(world: RestWorld, kept: Kept) -> None:
    node = a_node(state=NodeState.RUNNING, http_port=8042)
    master = a_container(container=1, state=ContainerState.COMPLETED, node_id=node.id)
    await world.put(node, replace(ROWS[0], current_attempt=1), an_attempt(am_container_id=master.id), master, ROWS[1])
    kept.page()
    await world.put(replace(node, http_port=1))
    kept.page()
    assert kept.rendered == [2, 1, 1]


async def test_what_passing_time_may_change_is_not_kept(world: RestWorld, kept: Kept) -> None:
    row = replace(ROWS[0], finished_ms=world.clock.now_ms())
    await world.put(row)
    for status, is_whole in ((LogAggregationStatus.RUNNING, False), (LogAggregationStatus.SUCCEEDED, True)):
        world.rm.log_aggregation.record(
            a_node(state=NodeState.RUNNING, http_port=8042).id,
            [LogAggregationReport(application_id=row.id, status=status)],
        )
        assert kept.page().is_whole is is_whole
        assert (kept.pages.known(0) is None) is not is_whole


async def test_forgotten_pages_are_none(world: RestWorld, kept: Kept) -> None:
    await world.put(ROWS[0])
    kept.page()
    world.rm.state.remove_application(ROWS[0].id)
    assert kept.pages.page(0) is None
    assert kept.pages.known(0) is None


async def test_beyond_the_bound_nothing_is_kept(world: RestWorld, kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.put(*ROWS)
    with monkeypatch.context() as bounded:
        bounded.setattr(rendered, "BYTES_MAX", 0)
        assert kept.page().body == b"3;2;1;"
        assert kept.pages.known(0) is None
        assert kept.pages.shared(0) is None
    kept.page()
    assert kept.pages.known(0) is not None


async def test_pages_are_compressed_once(world: RestWorld, kept: Kept) -> None:
    await world.put(*ROWS)
    page = kept.page()
    assert page.deflated(6) is page.deflated(6)
    assert page.deflated(5) != page.deflated(6)


async def test_readers_of_old_pages_are_not_joined_by_more(
    world: RestWorld, kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.put(*ROWS)
    monkeypatch.setattr(rendered, "REPLACED_BYTES_MAX", 12)
    held = []
    for text in ("a", "b"):
        await world.put(replace(ROWS[0], diagnostics=text))
        held.append(kept.pages.shared(0))
    await world.put(replace(ROWS[0], diagnostics="c"))
    assert not kept.pages.is_crowded
    held.append(kept.pages.shared(0))
    await world.put(replace(ROWS[0], diagnostics="d"))
    assert kept.pages.shared(0) is not None
    assert kept.pages.is_crowded
    held.clear()
    assert not kept.pages.is_crowded
