"""The state of an application, and the kill."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.records import a_submission, an_application, an_attempt
from tests.support.rest_world import RestWorld
from yodel.domain.states import ApplicationState, AttemptState

RUNNING = an_application(1, state=ApplicationState.RUNNING, current_attempt=1, launched_ms=1)
FINISHING = an_application(2, state=ApplicationState.FINISHING, current_attempt=1, finished_ms=5)


@pytest.fixture
async def running(world: RestWorld) -> RestWorld:
    await world.put(RUNNING, an_attempt(1, state=AttemptState.RUNNING))
    await world.put(FINISHING, an_attempt(2, state=AttemptState.FINISHING))
    return world


async def test_internal_state_is_shown(running: RestWorld) -> None:
    assert await running.json(f"/apps/{FINISHING.id}/state") == {"state": "FINISHING"}


async def test_kill_is_accepted_with_a_location(running: RestWorld) -> None:
    answer = await running.put_state(RUNNING.id, {"state": "KILLED", "diagnostics": "for the test"})
    assert answer.status_code == 202
    assert answer.headers["location"] == f"http://rm-host:8088/ws/v1/cluster/apps/{RUNNING.id}/state"
    assert answer.json()["state"] in ("KILLING", "KILLED")
    row = running.rm.state.applications[RUNNING.id]
    assert row.diagnostics == f"Application {RUNNING.id} was killed by user alice with diagnostic message: for the test"


async def test_kill_of_what_is_killed_changes_nothing(running: RestWorld) -> None:
    await running.put_state(RUNNING.id, {"state": "KILLED"})
    again = await running.put_state(RUNNING.id, {"state": "KILLED"})
    assert (again.status_code, again.json()) == (200, {"state": "KILLED"})


async def test_target_it_has_already_changes_nothing(running: RestWorld) -> None:
    answer = await running.put_state(RUNNING.id, {"state": "RUNNING"})
    assert (answer.status_code, answer.json()) == (200, {"state": "RUNNING"})


async def test_kill_of_what_is_finishing_is_done_already(running: RestWorld) -> None:
    answer = await running.put_state(FINISHING.id, {"state": "KILLED"})
    assert (answer.status_code, answer.json()) == (200, {"state": "FINISHING"})


async def test_stranger_may_not_even_kill_what_is_over(world: RestWorld) -> None:
    await world.put(an_application(1, state=ApplicationState.FINISHED, finished_ms=5))
    assert (await world.put_state(RUNNING.id, {"state": "KILLED"}, user="mallory")).status_code == 403


async def test_kill_of_a_finished_application_answers_its_state(world: RestWorld) -> None:
    await world.put(an_application(1, state=ApplicationState.FINISHED, finished_ms=5))
    answer = await world.put_state(RUNNING.id, {"state": "KILLED"})
    assert (answer.status_code, answer.json()) == (200, {"state": "FINISHED"})


async def test_only_killed_is_a_target(running: RestWorld) -> None:
    answer = await running.put_state(RUNNING.id, {"state": "FINISHED"})
    assert answer.status_code == 400
    assert answer.json()["RemoteException"]["message"] == "Only 'KILLED' is allowed as a target state."


@pytest.mark.parametrize("body", [{}, {"state": None}, {"state": 3}, {"appstate": {"state": "KILLED"}}])
async def test_body_without_a_state_is_refused(running: RestWorld, body: Any) -> None:
    answer = await running.put_state(RUNNING.id, body)
    assert answer.status_code == 400
    assert answer.json()["RemoteException"]["message"] == "Only 'KILLED' is allowed as a target state."


@pytest.mark.parametrize(
    "body",
    [{"state": ["KILLED"]}, {"state": "KILLED", "diagnostics": {}}, {"state": "KILLED", "diagnostics": "x" * 5000}],
)
async def test_body_of_other_kinds_is_refused(running: RestWorld, body: Any) -> None:
    assert (await running.put_state(RUNNING.id, body)).status_code == 400
    assert running.rm.state.applications[RUNNING.id] is RUNNING


async def test_call_without_a_body_falls_over_as_hadoop_does_but_not_over_what_is_not_there(running: RestWorld) -> None:
    path = "/ws/v1/cluster/apps/{}/state?user.name=alice"
    answer = await running.client.put(path.format(RUNNING.id))
    assert (answer.status_code, answer.json()["RemoteException"]["exception"]) == (503, "NullPointerException")
    assert (await running.client.put(path.format("application_1_0001"))).status_code == 404


async def test_stranger_may_not_kill(running: RestWorld) -> None:
    answer = await running.put_state(RUNNING.id, {"state": "KILLED"}, user="mallory")
    text = f"Unauthorized attempt to kill appid {RUNNING.id} by remote user mallory"
    assert (answer.status_code, answer.text) == (403, text)
    assert answer.headers["content-type"] == "application/json;charset=utf-8"
    assert running.rm.state.applications[RUNNING.id] is RUNNING


async def test_who_is_in_the_modify_acl_may_kill(world: RestWorld) -> None:
    shared = an_application(1, submission=a_submission(modify_acl="bob"), current_attempt=1)
    await world.put(shared, an_attempt(1))
    assert (await world.put_state(shared.id, {"state": "KILLED"}, user="bob")).status_code == 202


async def test_nobody_may_not_kill(running: RestWorld) -> None:
    assert (await running.put_state(RUNNING.id, {"state": "KILLED"}, user=None)).status_code == 401
    assert running.rm.state.applications[RUNNING.id] is RUNNING


async def test_unknown_application_is_not_found(world: RestWorld) -> None:
    answer = await world.put_state("application_1_0001", {"state": "KILLED"})
    assert answer.status_code == 404
    assert answer.json()["RemoteException"]["message"] == "app with id: application_1_0001 not found"
