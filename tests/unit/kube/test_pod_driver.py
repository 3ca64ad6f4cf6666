"""The Pods port against a scripted API server, without network and under fake loop time."""

from __future__ import annotations

import asyncio
from types import MappingProxyType
from typing import Any

import pytest

from tests.support.fake_kubernetes import Answer, FakeApi, Stream, pod, refusal
from yodel.errors import InvalidValue, Refused, Unavailable
from yodel.kube.pod_driver import DriverLimits, PodDriver
from yodel.kube.retrying import RetryLimits
from yodel.ports.pods import PodPhase, Pods

pytestmark = pytest.mark.looptime

OURS = "container_1_0001_01_000002"
EXISTS = refusal(409, "AlreadyExists", 'pods "a" already exists')
NOT_FOUND = refusal(404, "NotFound", 'pods "a" not found')


def manifest(name: str = "a", container_id: str = OURS) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {"yodel.io/container-id": container_id}}, "spec": {}}


def driver(*script: Answer | Stream, **limits: Any) -> tuple[PodDriver, FakeApi]:
    api = FakeApi(*script)
    attempts = DriverLimits(**{"retry": RetryLimits(attempts=3), **limits})
    return PodDriver(api, "jobs", attempts, clock=asyncio.get_running_loop().time), api


async def test_it_is_a_pods_port() -> None:
    port: Pods = driver()[0]
    assert port is not None


async def test_create_posts_the_manifest() -> None:
    pods, api = driver(Answer(status=201))
    await pods.create(MappingProxyType(manifest()))
    (asked,) = api.server.asked
    assert (asked.method, asked.path) == ("POST", "/api/v1/namespaces/jobs/pods")
    assert asked.body == manifest()


async def test_a_pod_that_exists_with_our_container_id_is_success() -> None:
    pods, api = driver(EXISTS, Answer(body=pod("a", 1, container_id=OURS)))
    await pods.create(manifest())
    assert api.server.kinds == ["POST", "GET"]


@pytest.mark.parametrize("label", ["container_1_0001_01_000099", ""])
async def test_a_pod_that_exists_and_is_not_ours_is_refused(label: str) -> None:
    pods, _ = driver(EXISTS, Answer(body=pod("a", 1, container_id=label)))
    with pytest.raises(Refused, match="belongs to somebody else"):
        await pods.create(manifest())


async def test_a_manifest_without_container_id_owns_no_existing_pod() -> None:
    stranger = pod("a", 1)
    del stranger["metadata"]["labels"]
    pods, _ = driver(EXISTS, Answer(body=stranger))
    with pytest.raises(Refused):
        await pods.create({"metadata": {"name": "a"}})


async def test_a_lost_answer_to_create_is_found_out_by_repeating() -> None:
    pods, api = driver(Answer(drop=True), EXISTS, Answer(body=pod("a", 1)))
    await pods.create(manifest())
    assert api.server.kinds == ["POST", "POST", "GET"]


async def test_a_pod_that_vanished_while_it_existed_is_created_again() -> None:
    pods, api = driver(EXISTS, NOT_FOUND, Answer(status=201))
    await pods.create(manifest())
    assert api.server.kinds == ["POST", "GET", "POST"]


async def test_a_quota_updated_at_the_same_moment_is_tried_again() -> None:
    pods, api = driver(refusal(409, "Conflict", "the object has been modified"), Answer(status=201))
    await pods.create(manifest())
    assert api.server.kinds == ["POST", "POST"]


@pytest.mark.parametrize(
    ("code", "reason"), [(400, "BadRequest"), (403, "Forbidden"), (404, "NotFound"), (422, "Invalid")]
)
async def test_a_refused_manifest_is_refused_at_once_with_the_servers_words(code: int, reason: str) -> None:
    pods, api = driver(refusal(code, reason, "exceeded quota: colocation"))
    with pytest.raises(Refused, match="Creating pod a: exceeded quota: colocation"):
        await pods.create(manifest())
    assert api.server.kinds == ["POST"]


async def test_an_api_server_that_stays_away_is_unavailable() -> None:
    pods, api = driver(*[refusal(503, "ServiceUnavailable", "no")] * 5)
    with pytest.raises(Unavailable):
        await pods.create(manifest())
    assert len(api.server.asked) == 3


async def test_an_api_server_that_cannot_resize_refuses_while_the_pod_is_there() -> None:
    sized = {**manifest(), "spec": {"containers": [{"name": "main", "resources": {"limits": {"cpu": "2"}}}]}}
    pods, api = driver(NOT_FOUND, Answer(body=pod("a", 1)), NOT_FOUND, NOT_FOUND)
    with pytest.raises(Refused, match="does not resize pods in place"):
        await pods.resize(sized)
    await pods.resize(sized)  # the pod is gone by now
    assert [asked.method for asked in api.server.asked] == ["PATCH", "GET", "PATCH", "GET"]
    assert api.server.asked[0].body == {"spec": sized["spec"]}


async def test_a_manifest_without_name_is_invalid() -> None:
    pods, api = driver()
    with pytest.raises(InvalidValue):
        await pods.create({"metadata": {"generateName": "a-"}})
    assert api.server.asked == []


async def test_creations_beyond_the_burst_wait_for_their_turn_in_order() -> None:
    pods, api = driver(*[Answer(status=201)] * 5, creates_per_second=2.0, creates_burst=2)
    async with asyncio.TaskGroup() as group:
        for name in "abcde":
            group.create_task(pods.create(manifest(name)))
    assert asyncio.get_running_loop().time() == pytest.approx(1.5)
    assert [asked.body["metadata"]["name"] for asked in api.server.asked] == list("abcde")


async def test_a_creation_whose_turn_is_too_far_away_is_unavailable() -> None:
    pods, _ = driver(Answer(status=201), creates_per_second=0.01, creates_burst=1)
    await pods.create(manifest())
    with pytest.raises(Unavailable, match="too many creations"):
        await pods.create(manifest("b"))


@pytest.mark.parametrize("grace_s", [None, 0, 15])
async def test_delete_asks_with_the_grace_it_was_given(grace_s: int | None) -> None:
    pods, api = driver(Answer())
    await pods.delete("a", grace_s=grace_s)
    (asked,) = api.server.asked
    assert (asked.method, asked.path) == ("DELETE", "/api/v1/namespaces/jobs/pods/a")
    assert asked.body.get("gracePeriodSeconds") == grace_s


async def test_deleting_what_is_gone_is_success() -> None:
    pods, _ = driver(NOT_FOUND)
    await pods.delete("a")


async def test_a_forbidden_delete_is_refused() -> None:
    pods, _ = driver(refusal(403, "Forbidden", "no right to delete pods"))
    with pytest.raises(Refused, match="no right to delete pods"):
        await pods.delete("a")


async def test_get_reads_a_pod_or_none() -> None:
    pods, _ = driver(Answer(body=pod("a", 5, phase="Running")), NOT_FOUND)
    seen = await pods.get("a")
    assert seen is not None
    assert (seen.name, seen.resource_version, seen.phase) == ("a", "5", PodPhase.RUNNING)
    assert await pods.get("a") is None


async def test_an_answer_that_is_no_pod_is_unavailable() -> None:
    pods, _ = driver(*[Answer(body=b"<html>")] * 3)
    with pytest.raises(Unavailable, match="no pod"):
        await pods.get("a")


async def test_what_would_become_of_a_pod_is_asked_and_nothing_is_created() -> None:
    pods, api = driver(Answer(body={"spec": {"priority": -200}}), Answer(body={"spec": {}}), Answer(body=b"<html>"))
    assert await pods.priority_of(manifest()) == -200
    assert await pods.priority_of(manifest()) is None, "without the admission plugin"
    with pytest.raises(Unavailable, match="the answer is no pod"):
        await pods.priority_of(manifest())
    assert [(one.method, one.path, one.query) for one in api.server.asked] == [
        ("POST", "/api/v1/namespaces/jobs/pods", {"dryRun": "All"})
    ] * 3


async def test_a_pod_that_could_not_be_is_refused_with_the_servers_words() -> None:
    pods, _ = driver(refusal(403, "Forbidden", "no PriorityClass with name koord-batch was found"))
    with pytest.raises(Refused, match="no PriorityClass with name koord-batch was found"):
        await pods.priority_of(manifest())


async def test_names_cannot_leave_their_path() -> None:
    pods, api = driver(NOT_FOUND)
    await pods.get("../../secrets/x?y")
    assert api.server.asked[0].path == "/api/v1/namespaces/jobs/pods/..%2F..%2Fsecrets%2Fx%3Fy"
