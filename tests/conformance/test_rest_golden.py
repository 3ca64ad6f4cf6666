"""Answers against those recorded from a real Hadoop 3.5.0 ResourceManager: same keys, types, nesting, and values.

The same applications, nodes and queues are put into an RM in memory and the recorded calls made again.  Keys, types and
lengths must agree everywhere; values must agree but for the measures named in ``MEASURED``, which two clusters cannot
share.
"""

from __future__ import annotations

import json
import pathlib
import re
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from tests.support.at_once import submission_context
from tests.support.rest_world import RestWorld, rest_world
from yodel.domain.application import Application, Submission
from yodel.domain.attempt import Attempt
from yodel.domain.container import Container
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId
from yodel.domain.node import Node
from yodel.domain.queues.queue import Queue
from yodel.domain.resource import Resource
from yodel.domain.states import (
    ApplicationState,
    AttemptState,
    ContainerState,
    ContainerType,
    FinalApplicationStatus,
    NodeState,
)
from yodel.services.applications.given_ids import Asker

GOLDEN = pathlib.Path(__file__).parent / "golden" / "rest"
CLUSTER_ID = 1795247895247
NODE = NodeId("rm-host", 8041)

MEASURED = frozenset(
    {
        *("elapsedTime", "memorySeconds", "vcoreSeconds"),
        *("cpuUtilization", "memUtilization", "nodePhysicalMemoryMB", "nodeVirtualMemoryMB", "nodeCPUUsage"),
        *("aggregatedContainersPhysicalMemoryMB", "aggregatedContainersVirtualMemoryMB"),
        *("utilizedVirtualCores", "utilizedMBPercent", "utilizedVirtualCoresPercent"),
        *("appsSubmitted", "appsCompleted", "appsFailed", "appsKilled"),
        *("rmStateStoreName", "resourceManagerBuildVersion", "resourceManagerVersionBuiltOn", "hadoopBuildVersion"),
        *("logAggregationStatus", "remainingTimeInSeconds"),
        "application-id",
    }
)

OF_ANOTHER_SCHEDULER = re.compile(
    # Kubernetes places: single placements are not known here.
    r".*\.health\..*"
    # The recorded one counts memory only, which makes one vcore of every limit; ours limits both and no user.
    r"|.*\.(amLimit|userAmLimit|AMResourceLimit|userAMResourceLimit|userResourceLimit)\..*"
    r"|.*\.resourceSecondsMap\..*"
    r"|.*\.userLimitFactor"
    # 30.000002: a float of the recorded one's own configuration.
    r"|\.scheduler\.schedulerInfo\.queues\.queue\[0\]\.(.*\.)?(capacity|absoluteCapacity)"
)
"""Paths whose values may differ as well."""

NOW = re.compile(r"current-time=\S+")
BY_REST: dict[str, Any] = {
    "priority": -1,
    "context": submission_context({"application-id": "application_1_0001"})[1].SerializeToString(),
}
"""The values of a submission by REST, which, unlike a client of the RPC, always names a label and a priority."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    method: str
    path: str
    headers: dict[str, str]
    content: bytes
    status: int
    answer_headers: dict[str, str]
    body: str


def recorded(name: str) -> Recorded:
    request, _, rest = (GOLDEN / f"{name}.txt").read_text().partition("\n< ")
    head, _, content = request.partition("\n>\n")
    lines = head.splitlines()
    method, _, path = lines[0].removeprefix("> ").partition(" ")
    answer_head, _, body = rest.partition("\n<\n")
    status, *answer_lines = answer_head.splitlines()
    return Recorded(
        method=method,
        path=path or "/",
        headers=dict(line.removeprefix("> ").split(": ", 1) for line in lines[1:] if line.startswith("> ")),
        content=content.strip().encode(),
        status=int(status.split(" ")[0]),
        answer_headers=dict(line.removeprefix("< ").split(": ", 1) for line in answer_lines),
        body=body.strip(),
    )


@pytest.fixture(autouse=True)
def recorded_time_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Texts name times in the ResourceManager's own zone, which was UTC."""
    with monkeypatch.context() as changed:
        changed.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.fixture
async def world() -> AsyncIterator[RestWorld]:
    queues = (
        Queue(path="root", is_leaf=False),
        Queue(path="root.default", capacity_percent=70.0),
        Queue(path="root.alpha", capacity_percent=30.0),
    )
    async with rest_world(cluster_id=CLUSTER_ID, queues=queues, login_user="root") as made:
        await made.put(
            Node(
                id=NODE,
                state=NodeState.RUNNING,
                http_port=8042,
                capability=Resource(12288, 12),
                version="3.5.0",
                last_health_ms=1795250570203,
            )
        )
        for rows in (_running(), _finished(), _failed(), _killed()):
            await made.put(*rows)
        await made.put(_refused())
        made.clock.elapsed_ms = 1795250595692 + 31924 - made.clock.now_ms()
        yield made


def _submission(name: str, kind: str, **changes: Any) -> Submission:
    fields: dict[str, Any] = {
        "name": name,
        "user": "root",
        "queue": "root.default",
        "application_type": kind,
        "am_capability": Resource(512, 1),
        "am_asked_capability": Resource(512, 1),
        "context": b"",
    }
    return Submission(**{**fields, **changes})


def _rows(
    number: int, submission: Submission, ended: ApplicationState | None, times: tuple[int, int, int], **attempt: Any
) -> tuple[Application, Attempt, Container]:
    """An application with one attempt and its AM's container; ``times``: submitted, launched, finished."""
    submitted_ms, launched_ms, finished_ms = times
    application_id = ApplicationId(CLUSTER_ID, number)
    attempt_id = ApplicationAttemptId(application_id, 1)
    application = Application(
        id=application_id,
        submission=submission,
        state=ended or ApplicationState.RUNNING,
        final_status=attempt.pop("final_status", FinalApplicationStatus.UNDEFINED),
        diagnostics=attempt.pop("diagnostics", ""),
        current_attempt=1,
        submitted_ms=submitted_ms,
        launched_ms=launched_ms,
        finished_ms=finished_ms,
    )
    container = Container(
        id=ContainerId.of(attempt_id, 1),
        pod="am",
        type=ContainerType.APPLICATION_MASTER,
        user="root",
        queue="root.default",
        capability=submission.am_capability,
        asked_capability=submission.am_capability,
        priority=0,
        state=ContainerState.COMPLETED if ended else ContainerState.RUNNING,
        node_id=NODE,
        created_ms=launched_ms,
        finished_ms=finished_ms,
    )
    row = Attempt(
        id=attempt_id,
        state=AttemptState[ended.name] if ended else AttemptState.RUNNING,
        am_container_id=container.id,
        **attempt,
    )
    return application, row, container


def _running() -> tuple[Any, ...]:
    application, attempt, am = _rows(
        47,
        _submission("rig-run", "YARN"),
        None,
        (1795250595692, 1795250597638, 0),
        host="rm-host/rm-host",
        started_ms=1795250595694,
    )
    task = Container(
        id=ContainerId.of(attempt.id, 2),
        pod="task",
        type=ContainerType.TASK,
        user="root",
        queue="root.default",
        capability=Resource(256, 1),
        asked_capability=Resource(256, 1),
        priority=0,
        state=ContainerState.RUNNING,
        node_id=NODE,
        created_ms=1795250617740,
    )
    return application, attempt, replace(am, created_ms=1795250595701), task


def _finished() -> tuple[Any, ...]:
    return _rows(
        7,
        _submission("QuasiMonteCarlo", "MAPREDUCE"),
        ApplicationState.FINISHED,
        (1795248562572, 1795248562615, 1795248583666),
        final_status=FinalApplicationStatus.SUCCEEDED,
        host="rm-host",
        rpc_port=39685,
        tracking_url="http://rm-host:19888/jobhistory/job/job_1795247895247_0007",
        started_ms=1795248562577,
        finished_ms=1795248583666,
    )


def _failed() -> tuple[Any, ...]:
    app = json.loads(recorded("app-failed").body)["app"]
    times = (1795250625265, 1795250625400, 1795250626329)
    status = FinalApplicationStatus.FAILED
    (attempt,) = json.loads(recorded("appattempts-failed").body)["appAttempts"]["appAttempt"]
    return _rows(
        49,
        _submission("rig-rest-fail", "YARN", **BY_REST),
        ApplicationState.FAILED,
        times,
        final_status=status,
        diagnostics=app["diagnostics"],
        started_ms=attempt["startTime"],
        finished_ms=attempt["finishedTime"],
    )


def _killed() -> tuple[Any, ...]:
    return _rows(
        48,
        _submission("rig-rest", "YARN", **BY_REST),
        ApplicationState.KILLED,
        (1795250620135, 1795250620232, 1795250625186),
        final_status=FinalApplicationStatus.KILLED,
        diagnostics="Application application_1795247895247_0048 was killed by user root",
        started_ms=1795250620136,
        finished_ms=1795250625182,
    )


def _refused() -> Application:
    app = json.loads(recorded("submit-unknown-queue-then-app").body)["app"]
    return Application(
        id=ApplicationId(CLUSTER_ID, 63),
        submission=_submission("x", "", queue="nosuch", **BY_REST),
        state=ApplicationState.FAILED,
        final_status=FinalApplicationStatus.FAILED,
        diagnostics=app["diagnostics"],
        submitted_ms=1795250637129,
        finished_ms=1795250637130,
    )


async def _as_many_as_there_were(world: RestWorld) -> None:
    """Applications that only the recorded statistics tell of, beside those that are here already."""
    wanted = {
        (ApplicationState.FINISHED, "MAPREDUCE"): 8 - 1,
        (ApplicationState.FINISHED, "YARN"): 31 - 8,
        (ApplicationState.FAILED, "YARN"): 7 - 2,
        (ApplicationState.KILLED, "YARN"): 7 - 1,
    }
    kinds = [kind for kind, count in wanted.items() for _ in range(count)]
    for number, (state, application_type) in enumerate(kinds, start=100):
        await world.put(
            Application(
                id=ApplicationId(CLUSTER_ID, number),
                submission=_submission("other", application_type),
                state=state,
                final_status=FinalApplicationStatus.UNDEFINED,
                submitted_ms=1795250000000,
                finished_ms=1795250001000,
            )
        )


async def asked_again(world: RestWorld, call: Recorded) -> Any:
    """A submission comes with an id that its caller was given; statistics are of as many as were recorded."""
    if call.path.partition("?")[0].endswith("/appstatistics"):
        await _as_many_as_there_were(world)
    if call.method == "POST" and call.path.partition("?")[0].endswith("/apps"):
        for text in re.findall(r"application_\d+_\d{4,}", str(call.content)):
            world.rm.submission.ids.given(ApplicationId.parse(text), Asker(user="root", host=""))
    return await world.client.request(call.method, call.path, headers=call.headers, content=call.content or None)


def differences(ours: Any, theirs: Any, path: str = "") -> Iterator[str]:
    """Yield where a body is not as recorded."""
    if type(ours) is not type(theirs):
        yield f"{path}: {type(ours).__name__}, recorded {type(theirs).__name__}"
    elif isinstance(theirs, dict):
        for key in sorted(ours.keys() ^ theirs.keys()):
            yield f"{path}.{key}: only in {'ours' if key in ours else 'the recording'}"
        for key in ours.keys() & theirs.keys():
            yield from differences(ours[key], theirs[key], f"{path}.{key}")
    elif isinstance(theirs, list):
        ours, theirs = _ordered(ours), _ordered(theirs)
        if len(ours) != len(theirs):
            yield f"{path}: {len(ours)} items, recorded {len(theirs)}"
        for number, (our, their) in enumerate(zip(ours, theirs, strict=False)):
            yield from differences(our, their, f"{path}[{number}]")
    elif isinstance(theirs, str) and NOW.sub("", ours) == NOW.sub("", theirs):
        return
    elif ours != theirs and path.rsplit(".", 1)[-1] not in MEASURED and not OF_ANOTHER_SCHEDULER.fullmatch(path):
        yield f"{path}: {ours!r}, recorded {theirs!r}"


def _ordered(items: list[Any]) -> list[Any]:
    """Queues, containers and states have no order of their own."""
    for key in ("queuePath", "containerId", "state"):
        if all(isinstance(item, dict) and key in item for item in items):
            return sorted(items, key=lambda item: str(item[key]))
    return items


SHAPES = (
    *("info", "root", "metrics", "app-running", "app-finished", "app-failed", "app-killed"),
    *("submit-unknown-queue-then-app", "apps-empty", "apps-running", "apps-deselects", "scheduler"),
    *("appattempts-running", "appattempts-finished", "appattempts-failed", "appattempts-killed"),
    *("nodes", "node", "nodes-lost-empty", "new-application", "app-state-PUT-kill-again", "err-state-PUT-running"),
    *("app-state-GET-running", "app-state-GET-finished", "app-state-GET-failed", "app-state-GET-killed"),
    *("containers-running", "containers-finished", "container-running", "appstatistics", "appstatistics-filter"),
    *("app-queue-GET", "app-queue-PUT", "app-priority-GET", "app-priority-PUT", "app-priority-PUT-too-high"),
    *("app-timeouts-GET", "app-timeouts-LIFETIME-GET", "app-timeout-PUT"),
    *("userinfo", "scheduler-overview", "get-node-labels", "get-rm-node-labels", "get-node-to-labels"),
    "label-mappings",
)
REFUSALS = (
    *("err-app-bad-id", "err-app-unknown", "err-attempts-unknown", "err-state-unknown-app", "node-bad-id"),
    *("node-unknown", "nodes-bad-state", "err-state-PUT-bad-state", "err-state-PUT-bad-json"),
    *("err-accept-text", "err-accept-html", "err-submit-bad-id", "err-submit-bad-json", "err-submit-empty"),
    *("err-submit-too-big", "err-submit-too-many-cores", "apps-bad-limit", "apps-bad-state"),
    *("err-attempt-unknown", "err-container-unknown", "app-queue-PUT-unknown", "app-timeouts-bad-type"),
    *("app-timeout-PUT-past", "app-timeout-PUT-bad-format", "queue-access-bad-type"),
)
TEXTS = ("signal-bad", "signal-thread-dump", "delegation-token-POST", "options-info", "rm-isActive")
ACCEPTED = (
    *("submit-unknown-queue", "err-submit-unknown-field", "err-submit-no-spec", "err-submit-zero-resource"),
    "err-submit-foreign-id",
)


@pytest.mark.parametrize("name", [*SHAPES, *REFUSALS])
async def test_body_is_as_recorded(world: RestWorld, name: str) -> None:
    call = recorded(name)
    answer = await asked_again(world, call)
    assert answer.status_code == call.status
    assert list(differences(answer.json(), json.loads(call.body))) == []
    assert answer.headers.get("content-type") == call.answer_headers.get("Content-Type")


@pytest.mark.parametrize("name", TEXTS)
async def test_text_is_as_recorded(world: RestWorld, name: str) -> None:
    call = recorded(name)
    answer = await asked_again(world, call)
    assert (answer.status_code, answer.text) == (call.status, call.body)
    assert answer.headers["content-type"].replace(" ", "") == call.answer_headers["Content-Type"]
    assert answer.headers.get("allow") == call.answer_headers.get("Allow")


@pytest.mark.parametrize("name", ["info", "apps-running", "err-app-unknown", "err-state-PUT-bad-state", "rm-root"])
async def test_headers_are_as_recorded(world: RestWorld, name: str) -> None:
    call = recorded(name)
    answer = await asked_again(world, call)
    for header in ("Cache-Control", "X-Content-Type-Options", "X-FRAME-OPTIONS"):
        assert answer.headers[header] == call.answer_headers[header]


@pytest.mark.parametrize("name", ACCEPTED)
async def test_submission_is_accepted_as_recorded(world: RestWorld, name: str) -> None:
    call = recorded(name)
    answer = await asked_again(world, call)
    assert (answer.status_code, answer.content) == (call.status, b"")
    assert answer.headers["location"] == call.answer_headers["Location"]


async def test_submission_to_an_unknown_queue_is_shown_failed_as_recorded(world: RestWorld) -> None:
    await asked_again(world, recorded("submit-unknown-queue"))
    call = recorded("submit-unknown-queue-then-app")
    app = (await world.client.get(call.path)).json()["app"]
    theirs = json.loads(call.body)["app"]
    names = ("state", "finalStatus", "trackingUI", "queue", "allocatedMB", "diagnostics", "priority")
    assert {key: app[key] for key in names} == {key: theirs[key] for key in names}


async def test_path_of_nothing_is_refused_as_recorded(world: RestWorld) -> None:
    call = recorded("err-no-such-path")
    answer = await asked_again(world, call)
    theirs = json.loads(call.body)
    assert (answer.status_code, answer.json()) == (call.status, {**theirs, "servlet": "yodel"})


@pytest.mark.parametrize("name", ["proxy-unknown", "proxy-running", "proxy-finished"])
async def test_what_has_no_pages_is_sent_from_the_proxy_as_recorded(world: RestWorld, name: str) -> None:
    """The one that runs gave no tracking URL; the one that finished left a history."""
    call = recorded(name)
    answer = await asked_again(world, call)
    assert answer.status_code == call.status
    location = answer.headers["location"]
    assert call.answer_headers["Location"] == (location if "//" in location else f"http://rm-host:8088{location}")
    assert "Content has moved" in answer.text
