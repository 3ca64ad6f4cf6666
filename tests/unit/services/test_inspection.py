"""The followers of rows, under fake loop time, on a playbook's ResourceManager."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace

import pytest

from tests.support.playbook import World, ask, complete, running
from yodel.domain.container import Container
from yodel.domain.ids import ApplicationId, dns_name
from yodel.domain.states import ContainerState
from yodel.errors import Refused, Unavailable
from yodel.ports.inspection import ListedApplication, PodEvent
from yodel.services.pods.inspection import EVENTS_MAX, Inspection, InspectionSettings

pytestmark = pytest.mark.looptime
SETTINGS = InspectionSettings(events_per_second=10.0, applications_per_second=5.0, rest_s=300.0)


class Events:
    def __init__(self, *errors: Exception) -> None:
        self.told: list[PodEvent] = []
        self.errors = list(errors)

    async def tell(self, event: PodEvent) -> None:
        if self.errors:
            raise self.errors.pop(0)
        self.told.append(event)

    @property
    def reasons(self) -> list[str]:
        return [event.reason for event in self.told]


class Board:
    def __init__(self, *lines: ApplicationId) -> None:
        self.lines: dict[ApplicationId, ListedApplication | None] = dict.fromkeys(lines)
        self.writes = 0
        self.errors: list[Exception] = []

    async def show(self, summary: ListedApplication) -> None:
        self._write()
        self.lines[summary.id] = summary

    async def hide(self, application_id: ApplicationId) -> None:
        self._write()
        self.lines.pop(application_id, None)

    async def shown(self) -> Collection[ApplicationId]:
        if self.errors:
            raise self.errors.pop(0)
        return list(self.lines)

    def _write(self) -> None:
        self.writes += 1
        if self.errors:
            raise self.errors.pop(0)


def inspecting(world: World, events: Events | None = None, board: Board | None = None) -> Inspection:
    rm = world.rm
    inspection = Inspection(rm.state, rm.reconciler.observed, world.clock, SETTINGS, events=events, board=board)
    rm.engine.follow_with(inspection.published)
    return inspection


async def during(inspection: Inspection, seconds: float) -> None:
    task = asyncio.create_task(inspection.run())
    await asyncio.sleep(seconds)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_grant_launch_and_end_are_events_of_the_pod(world: World) -> None:
    inspection = inspecting(world, events := Events())
    am = await world.running_am()
    (one, other) = await am.obtain(2)
    await world.beat(running(one), complete(other, -1000, "Localization failed: no such file"))
    await world.beat(complete(one, 0))
    await world.settle()
    await am.beat()  # hears of the end
    await am.acknowledge()  # which writes the row once more
    await world.settle()
    await during(inspection, 5)

    own = [(e.pod_name, e.reason, e.is_warning) for e in events.told]
    assert [line[1:] for line in own if line[0] == dns_name(one)] == [
        ("Allocated", False),
        ("Launched", False),
        ("Completed", False),
    ]
    assert [line[1:] for line in own if line[0] == dns_name(other)] == [
        ("Allocated", False),
        ("LocalizationFailed", True),
    ]
    (failed,) = [event for event in events.told if event.reason == "LocalizationFailed"]
    assert "no such file" in failed.message
    assert failed.pod_uid == f"uid-{dns_name(other)}"


async def test_event_is_not_written_in_the_moment_in_which_its_container_is_allocated(world: World) -> None:
    inspection = inspecting(world, events := Events())
    am = await world.running_am()
    (one,) = await am.obtain(1)
    pause_s = 1 / SETTINGS.events_per_second
    await during(inspection, 0.9 * pause_s)
    assert events.told == []
    await during(inspection, 4.5 * pause_s)
    assert (dns_name(one), "Allocated") in {(event.pod_name, event.reason) for event in events.told}


async def test_event_of_an_end_that_a_pod_told_has_the_node_agents_words(world: World) -> None:
    am = await world.running_am()
    (task,) = await am.obtain(1)
    world.pods.finish(dns_name(task), 7)
    await world.settle()
    await world.pass_time(3.1)
    inspection = inspecting(world, events := Events())  # as after a restart
    await world.run(world.rm.engine.do(lambda tx: tx.put(replace(tx.container(task)))))
    await during(inspection, 1)
    assert events.told == []
    await world.beat(complete(task, 7, "No such table: river"))
    await during(inspection, 1)
    assert [event.reason for event in events.told] == ["Ended"]
    assert "No such table: river" in events.told[0].message


async def test_events_keep_their_pace_and_the_oldest_are_dropped(world: World) -> None:
    inspection = inspecting(world, events := Events())
    am = await world.running_am()
    (first,) = await am.obtain(1)
    row = world.container(first)
    inspection._waiting.clear()
    for number in range(EVENTS_MAX + 5):
        state = ContainerState.ALLOCATED if number % 2 else ContainerState.RUNNING
        inspection.published([replace(row, state=state)], ())
    assert inspection.dropped == 5
    await during(inspection, 2.05)
    assert 20 <= len(events.told) <= 22


async def test_same_state_is_told_once(world: World) -> None:
    inspection = inspecting(world, events := Events())
    am = await world.running_am()
    (first,) = await am.obtain(1)
    row: Container = world.container(first)
    for progress in range(5):
        inspection.published([replace(row, finished_ms=progress)], ())
    await during(inspection, 5)
    assert len([event for event in events.told if event.pod_name == dns_name(first)]) == 1


async def test_refused_events_are_forgotten_and_tried_much_later(world: World) -> None:
    inspection = inspecting(world, events := Events(Refused("events is forbidden")))
    am = await world.running_am()
    await am.obtain(3)
    await world.settle()
    await during(inspection, 301)
    assert events.told == []
    assert inspection.dropped >= 3


async def test_application_follows_its_state_with_few_writes(world: World) -> None:
    inspection = inspecting(world, board=(board := Board()))
    am = await world.running_am()
    granted = await am.obtain(8)
    await world.beat(*(running(container_id) for container_id in granted))
    await world.settle()
    await during(inspection, 5)
    (line,) = board.lines.values()
    assert line is not None
    assert (line.state, line.user, line.containers) == ("RUNNING", "alice", 9)
    assert board.writes == 1


async def test_lines_of_unknown_applications_go_and_a_refusal_rests(world: World) -> None:
    stranger = ApplicationId(1, 1)
    inspection = inspecting(world, board=(board := Board(stranger)))
    board.errors += [Unavailable("timeout"), Refused("the server could not find the requested resource")]
    await world.running_am()
    task = asyncio.create_task(inspection.run())
    await asyncio.sleep(290)
    assert stranger in board.lines
    await asyncio.sleep(20)
    assert stranger not in board.lines
    assert len(board.lines) == 1
    task.cancel()


async def test_writes_of_many_applications_keep_their_pace(world: World) -> None:
    inspection = inspecting(world, board=(board := Board()))
    am = await world.running_am()
    row = world.application(am.attempt_id.application_id)
    world.rm.state.publish([replace(row, id=ApplicationId(7, number)) for number in range(1, 101)])
    await during(inspection, 4.05)
    assert 20 <= board.writes <= 22


async def test_what_keeps_the_am_waiting_is_in_the_line(world: World) -> None:
    await world.register_node()
    inspection = inspecting(world, board=(board := Board()))
    application_id = await world.submit()
    await world.settle()
    (name,) = world.pods.pods
    world.pods.change(name, unschedulable_message="0/3 nodes are available")
    await world.settle()
    await during(inspection, 1)
    line = board.lines[application_id]
    assert line is not None
    assert "0/3 nodes are available" in line.waits_for


async def test_ask_that_cannot_be_placed_is_an_event_of_the_masters_pod_and_a_line_of_its_application(
    world: World,
) -> None:
    inspection = inspecting(world, events := Events(), board := Board())
    world.rm.misfits.tell = inspection.misfit
    am = await world.running_am()
    await am.beat(ask(2, "nowhere"), ask(2, relax_locality=False))
    await world.settle()
    await during(inspection, 3)

    told = events.told[-1]
    assert (told.reason, told.pod_name, told.is_warning) == ("ContainerUnschedulable", dns_name(am.container.id), True)
    assert told.message.startswith("Cannot be placed: 2 of 1 GiB, 1 vcore (priority 1): locality is strict")
    line = board.lines[am.application_id]
    assert line is not None
    assert line.waits_for == told.message
