"""Calls about applications, as recorded from a real Hadoop 3.5.0 ResourceManager: refusals, XML, submissions.

The world and the comparison are those of ``tests/conformance/test_rest_golden.py``; here are the calls whose answers
are the same text, those in XML, and those whose effect another call shows.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.conformance.test_rest_golden import CLUSTER_ID, asked_again, differences, recorded
from tests.conformance.test_rest_golden import world as _world
from tests.support.rest_world import RestWorld
from yodel.domain.ids import ApplicationAttemptId, ApplicationId
from yodel.domain.states import ApplicationState, AttemptState, ContainerState

recorded_world = _world  # the fixture, under a name that does not hide the usual one

SAME_TEXT = (
    *("err-state-PUT-empty", "err-state-PUT-bad-json", "err-state-PUT-bad-state", "err-state-unknown-app"),
    *("err-submit-negative", "err-submit-empty", "err-submit-bad-id", "err-submit-bad-json", "err-submit-too-big"),
    *("err-submit-too-many-cores", "submit-wrapped", "new-reservation", "reservation-list", "reservation-list.xml"),
    *("app-state-GET.xml-put", "app-queue-PUT-back", "app-queue-PUT", "app-queue-PUT-unknown", "app-queue-GET.xml"),
    *("app-priority-PUT", "app-priority-PUT-too-high", "app-priority-GET.xml", "app-state-GET", "app-state-GET.xml"),
    *("app-timeouts-GET.xml", "app-timeouts-LIFETIME-GET.xml", "app-timeouts-bad-type", "app-timeouts-bad-type.xml"),
    *("app-timeout-PUT-bad-format", "apps-bad-limit", "apps-bad-state", "apps-empty", "apps-empty.xml"),
    *("err-app-bad-id", "err-app-bad-id.xml", "err-app-unknown", "err-app-unknown.xml", "err-attempt-unknown"),
    *("err-attempts-unknown", "err-container-unknown", "containers-finished", "containers-finished.xml"),
    *("signal-bad", "signal-thread-dump"),
)
SAME_XML = (
    *("app-running.xml", "app-finished.xml", "app-failed.xml", "app-killed.xml", "apps-running.xml"),
    *("appattempts-running.xml", "appattempts-finished.xml", "appattempts-failed.xml", "appattempts-killed.xml"),
    *("container-running.xml", "containers-running.xml", "appstatistics.xml", "new-application.xml"),
)
SUBMITTED = (
    *("submit-first", "submit-duplicate-id", "apps-POST-submit", "apps-POST-submit.xml", "submit-priority-too-high"),
    *("err-submit-foreign-id", "err-submit-no-spec", "err-submit-unknown-field", "err-submit-zero-resource"),
    "submit-unknown-queue",
)
THEN = (
    *("submit-priority-too-high", "err-submit-foreign-id", "err-submit-no-spec", "err-submit-unknown-field"),
    *("err-submit-zero-resource", "submit-unknown-queue"),
)
AS_SUBMITTED = (
    *("id", "user", "name", "queue", "state", "finalStatus", "applicationType", "applicationTags", "priority"),
    *("unmanagedApplication", "appNodeLabelExpression", "amNodeLabelExpression", "timeouts", "trackingUI"),
)
"""Fields that are the same whether or not a node has started the ApplicationMaster meanwhile."""


def tree(element: ElementTree.Element) -> Any:
    """Return the object that JSON would show, with every value a text."""
    children = list(element)
    if not children:
        return element.text or ""
    names = [child.tag for child in children]
    return {
        name: [tree(c) for c in children if c.tag == name] if names.count(name) > 1 else tree(element.find(name))  # type: ignore[arg-type]
        for name in dict.fromkeys(names)
    }


@pytest.mark.parametrize("name", SAME_TEXT)
async def test_answer_is_the_recorded_text(recorded_world: RestWorld, name: str) -> None:
    call = recorded(name)
    answer = await asked_again(recorded_world, call)
    assert (answer.status_code, answer.text) == (call.status, call.body)
    assert answer.headers.get("content-type") == call.answer_headers.get("Content-Type")


@pytest.mark.parametrize("name", SAME_XML)
async def test_xml_is_as_recorded(recorded_world: RestWorld, name: str) -> None:
    call = recorded(name)
    answer = await asked_again(recorded_world, call)
    assert (answer.status_code, answer.headers["content-type"]) == (call.status, "application/xml;charset=utf-8")
    ours, theirs = ElementTree.fromstring(answer.text), ElementTree.fromstring(call.body)
    assert answer.text.partition("?>")[0] == call.body.partition("?>")[0]
    assert (ours.tag, list(differences(tree(ours), tree(theirs)))) == (theirs.tag, [])


async def test_xml_of_one_attempt_has_the_recorded_fields(recorded_world: RestWorld) -> None:
    """Java's own name of the host, with its address, is no business of ours; JSON is shown too, where Hadoop fails."""
    call = recorded("appattempt-running.xml")
    ours = tree(ElementTree.fromstring((await asked_again(recorded_world, call)).text))
    theirs = tree(ElementTree.fromstring(call.body))
    assert list(ours) == list(theirs)
    assert {**ours, "host": "", "rpcPort": ""} == {**theirs, "host": "", "rpcPort": ""}
    shown = (await recorded_world.client.get(call.path)).json()["appAttempt"]
    assert {name: str(value) for name, value in shown.items()} == ours


@pytest.mark.parametrize("name", SUBMITTED)
async def test_submission_is_accepted_as_recorded(recorded_world: RestWorld, name: str) -> None:
    call = recorded(name)
    answer = await asked_again(recorded_world, call)
    assert (answer.status_code, answer.content) == (202, b"")
    assert answer.headers["location"] == call.answer_headers["Location"]
    assert "content-type" not in answer.headers


@pytest.mark.parametrize("name", THEN)
async def test_submitted_application_is_shown_as_recorded(recorded_world: RestWorld, name: str) -> None:
    await asked_again(recorded_world, recorded(name))
    call = recorded(f"{name}-then-app")
    ours, theirs = (await asked_again(recorded_world, call)).json()["app"], json.loads(call.body)["app"]
    assert {key: ours.get(key) for key in AS_SUBMITTED} == {key: theirs.get(key) for key in AS_SUBMITTED}


async def test_xml_submission_is_the_one_that_was_recorded(recorded_world: RestWorld) -> None:
    await asked_again(recorded_world, recorded("apps-POST-submit.xml"))
    call = recorded("app-xml-submitted-tags")
    ours, theirs = (await asked_again(recorded_world, call)).json()["app"], json.loads(call.body)["app"]
    names = ("name", "applicationType", "applicationTags", "priority", "unmanagedApplication", "queue")
    assert {key: ours[key] for key in names} == {key: theirs[key] for key in names}


@pytest.fixture
async def victim(recorded_world: RestWorld) -> RestWorld:
    """Application 48 before the recorded kill."""
    application_id = ApplicationId(CLUSTER_ID, 48)
    state = recorded_world.rm.state
    attempt = state.attempts[ApplicationAttemptId(application_id, 1)]
    application = state.applications[application_id]
    assert attempt.am_container_id is not None
    await recorded_world.put(
        replace(application, state=ApplicationState.RUNNING, diagnostics="", finished_ms=0),
        replace(attempt, state=AttemptState.RUNNING, finished_ms=0),
        replace(state.containers[attempt.am_container_id], state=ContainerState.RUNNING, finished_ms=0),
    )
    return recorded_world


async def test_kill_is_accepted_as_recorded(victim: RestWorld) -> None:
    call = recorded("app-state-PUT-kill")
    answer = await asked_again(victim, call)
    # Where Hadoop is still KILLING it, the row is written already.
    assert (answer.status_code, answer.json()) == (call.status, {"state": "KILLED"})
    assert answer.headers["location"] == call.answer_headers["Location"]
    text = victim.rm.state.applications[ApplicationId(CLUSTER_ID, 48)].diagnostics
    assert text == "Application application_1795247895247_0048 was killed by user root"
