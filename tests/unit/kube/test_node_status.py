"""Publishing asks this of the API server; its promises are in tests/contract/test_node_statuses_port.py."""

from __future__ import annotations

import json

import pytest

from tests.support.fake_kubernetes import Answer, FakeApi, refusal
from yodel.errors import Refused, Unavailable
from yodel.kube.node_status import RIGHTS, KubeNodeStatuses
from yodel.ports.kube_nodes import NodeStatuses

pytestmark = pytest.mark.looptime

CPU, MEMORY = "kubernetes.io/batch-cpu", "kubernetes.io/batch-memory"
NODE = Answer(body=b'{"metadata":{"name":"n","resourceVersion":"42"}}')


def review(*, is_allowed: bool) -> Answer:
    return Answer(body=json.dumps({"status": {"allowed": is_allowed}}).encode())


async def test_one_merge_patch_says_both_and_who_writes() -> None:
    api = FakeApi(NODE)
    port: NodeStatuses = KubeNodeStatuses(api)
    assert await port.publish("n/1", {CPU: 1500, MEMORY: None}) == "42"
    (asked,) = api.server.asked
    assert (asked.method, asked.path) == ("PATCH", "/api/v1/nodes/n%2F1/status")
    assert asked.query == {"fieldManager": "yodel-colocation"}
    amounts = {CPU: "1500", MEMORY: None}
    assert asked.body == {
        "metadata": {"annotations": {"yodel.io/colocation": CPU}},
        "status": {"capacity": amounts, "allocatable": amounts},
    }


async def test_without_the_right_it_is_refused_and_silence_is_unavailable() -> None:
    with pytest.raises(Refused, match=r"Publishing the lent capacity of node n: .*cannot patch"):
        await KubeNodeStatuses(FakeApi(refusal(403, "Forbidden", "cannot patch nodes/status"))).publish("n", {CPU: 1})
    with pytest.raises(Unavailable):
        await KubeNodeStatuses(FakeApi(Answer(body=b"[]"))).publish("n", {CPU: 1})


async def test_missing_rights_are_named_once_each_by_what_grants_them() -> None:
    api = FakeApi(*(review(is_allowed=False) for _ in RIGHTS))
    missing = await KubeNodeStatuses(api).missing_rights()
    assert [words.split()[0] for words in missing] == ["rbac.nodes", "rbac.nodeStatus", "rbac.allPods"]
    assert missing[1] == "rbac.nodeStatus (the right to patch nodes/status)"
    assert api.server.asked[1].body["spec"] == {
        "resourceAttributes": {"verb": "patch", "resource": "nodes", "subresource": "status"}
    }


async def test_rights_that_are_there_are_not_named_and_all_verbs_are_asked() -> None:
    answers = [review(is_allowed=right.verb != "watch") for right in RIGHTS]
    missing = await KubeNodeStatuses(FakeApi(*answers)).missing_rights()
    assert [words.split()[0] for words in missing] == ["rbac.nodes", "rbac.allPods"]


async def test_a_server_without_the_question_is_not_asked_twice_and_lacks_nothing() -> None:
    api = FakeApi(*(refusal(404, "NotFound", "the server could not find the requested resource") for _ in RIGHTS))
    assert await KubeNodeStatuses(api).missing_rights() == []
