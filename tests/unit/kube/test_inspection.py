"""Events and applications are written for people, and answers become records or refusals."""

from __future__ import annotations

import pytest

from tests.support.fake_kubernetes import Answer, FakeApi, refusal
from yodel.domain.ids import ApplicationId
from yodel.errors import Refused, Unavailable
from yodel.kube.inspection import KubeApplicationBoard, KubePodEvents
from yodel.ports.inspection import ListedApplication, PodEvent

ID = ApplicationId(1700000000000, 1)
EVENT = PodEvent(pod_name="p", pod_uid="u", reason="Allocated", message="m" * 5000, at_ms=1767323045000)
SUMMARY = ListedApplication(
    id=ID,
    name="Spark Pi",
    type="SPARK",
    user="alice@EXAMPLE",
    queue="root.default",
    state="RUNNING",
    final_status="UNDEFINED",
    containers=3,
    memory_mib=4096,
    vcores=3,
    submitted_ms=1767323045000,
    finished_ms=0,
)


async def test_an_event_is_about_its_pod_and_within_the_servers_limits() -> None:
    api = FakeApi(Answer(status=201))
    await KubePodEvents(api, "jobs").tell(EVENT)
    (asked,) = api.server.asked
    assert (asked.method, asked.path) == ("POST", "/api/v1/namespaces/jobs/events")
    assert asked.body["metadata"]["name"] == "p.allocated.19b7ca98c88"
    assert asked.body["involvedObject"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": "jobs",
        "name": "p",
        "uid": "u",
    }
    assert (asked.body["type"], asked.body["reason"]) == ("Normal", "Allocated")
    assert len(asked.body["message"]) == 1024
    assert asked.body["firstTimestamp"] == asked.body["lastTimestamp"] == "2026-01-02T03:04:05Z"


async def test_an_event_that_is_there_already_is_a_success() -> None:
    await KubePodEvents(FakeApi(refusal(409, "AlreadyExists")), "jobs").tell(EVENT)


async def test_refusals_and_silence_are_told_apart_and_not_repeated() -> None:
    api = FakeApi(refusal(403, "Forbidden", "events is forbidden"), refusal(500, "InternalError"))
    with pytest.raises(Refused, match="events is forbidden"):
        await KubePodEvents(api, "jobs").tell(EVENT)
    with pytest.raises(Unavailable):
        await KubePodEvents(api, "jobs").tell(EVENT)
    assert len(api.server.asked) == 2


async def test_an_application_is_applied_whole() -> None:
    api = FakeApi(Answer())
    await KubeApplicationBoard(api, "jobs", "prod").show(SUMMARY)
    (asked,) = api.server.asked
    path = "/apis/yodel.io/v1/namespaces/jobs/yarnapplications/application-1700000000000-0001"
    assert (asked.method, asked.path) == ("PATCH", path)
    assert asked.query == {"fieldManager": "yodel-resourcemanager", "force": "true"}
    assert asked.body == {
        "apiVersion": "yodel.io/v1",
        "kind": "YarnApplication",
        "metadata": {
            "name": "application-1700000000000-0001",
            "labels": {
                "app.kubernetes.io/managed-by": "yodel",
                "yodel.io/cluster": "prod",
                "yodel.io/application": "application_1700000000000_0001",
                "yodel.io/user": "alice-EXAMPLE",
                "yodel.io/queue": "root.default",
            },
        },
        "status": {
            "applicationId": "application_1700000000000_0001",
            "name": "Spark Pi",
            "type": "SPARK",
            "user": "alice@EXAMPLE",
            "queue": "root.default",
            "state": "RUNNING",
            "finalStatus": "UNDEFINED",
            "containers": 3,
            "memoryMiB": 4096,
            "vcores": 3,
            "submitted": "2026-01-02T03:04:05Z",
        },
    }


async def test_a_missing_resource_is_refused_with_the_servers_words() -> None:
    api = FakeApi(Answer(status=404, body=b"404 page not found"))
    with pytest.raises(Refused, match="404 page not found"):
        await KubeApplicationBoard(api, "jobs", "prod").show(SUMMARY)


async def test_a_line_that_is_gone_already_is_hidden() -> None:
    api = FakeApi(refusal(404, "NotFound"))
    await KubeApplicationBoard(api, "jobs", "prod").hide(ID)
    assert api.server.asked[0].method == "DELETE"


async def test_lines_are_read_page_by_page_and_strangers_left_out() -> None:
    first = {
        "metadata": {"continue": "more"},
        "items": [{"metadata": {"name": "application-1700000000000-0001"}}, {"metadata": {"name": "by-hand"}}],
    }
    second = {"metadata": {}, "items": [{"metadata": {"name": "application-1700000000000-0012"}}]}
    api = FakeApi(Answer(body=first), Answer(body=second))
    assert list(await KubeApplicationBoard(api, "jobs", "prod").shown()) == [ID, ApplicationId(1700000000000, 12)]
    assert api.server.asked[1].query["continue"] == "more"
    assert "yodel.io/cluster=prod" in api.server.asked[0].query["labelSelector"]


async def test_an_answer_that_is_no_list_is_no_answer() -> None:
    with pytest.raises(Unavailable):
        await KubeApplicationBoard(FakeApi(Answer(body=b"[]")), "jobs", "prod").shown()
