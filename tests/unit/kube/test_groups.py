"""Groups against a scripted API server: before their pods, once, and gone when nobody needs them."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.support.fake_kubernetes import Answer, FakeApi, refusal
from yodel.errors import InvalidValue, Refused, Unavailable
from yodel.kube.groups import GroupedPods
from yodel.kube.retrying import RetryLimits
from yodel.ports.pods import Manifest, PodObservation, Pods
from yodel.translator.dialects import DIALECTS, GangKind
from yodel.translator.pod_spec import Group

pytestmark = pytest.mark.looptime

KIND = DIALECTS["volcano"].gang or GangKind(api_version="", kind="", plural="")
PATH = "/apis/scheduling.volcano.sh/v1beta1/namespaces/jobs/podgroups"
EXISTS = refusal(409, "AlreadyExists", "exists")
NOT_FOUND = refusal(404, "NotFound", "not found")
SELECTOR = "app.kubernetes.io/managed-by=yodel"


class Recorded:
    """A Pods port that writes down what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Any]] = []

    async def create(self, manifest: Manifest) -> None:
        self.asked.append(("create", manifest))

    async def delete(self, name: str, *, grace_s: int | None = None) -> None:
        self.asked.append(("delete", (name, grace_s)))

    async def resize(self, manifest: Manifest) -> None:
        self.asked.append(("resize", manifest))

    async def get(self, name: str) -> PodObservation | None:
        self.asked.append(("get", name))
        return None

    async def priority_of(self, manifest: Manifest) -> int | None:
        self.asked.append(("priority_of", manifest))
        return None


def group_of(manifest: Manifest) -> Group | None:
    name = manifest.get("group")
    return None if name is None else Group(kind=KIND, name=name, manifest={"metadata": {"name": name}})


def grouped(*script: Answer) -> tuple[GroupedPods, Recorded, FakeApi]:
    api, pods = FakeApi(*script), Recorded()
    return GroupedPods(pods, api, "jobs", group_of, RetryLimits(attempts=2)), pods, api


def page(*names: str, continuation: str = "") -> Answer:
    return Answer(body={"metadata": {"continue": continuation}, "items": [{"metadata": {"name": n}} for n in names]})


async def test_it_is_a_pods_port_that_passes_all_else_on() -> None:
    made, pods, api = grouped()
    port: Pods = made
    await port.create({"name": "a"})
    await port.resize({"name": "a"})
    await port.delete("a", grace_s=3)
    await port.get("a")
    await port.priority_of({"name": "a"})
    assert pods.asked == [
        ("create", {"name": "a"}),
        ("resize", {"name": "a"}),
        ("delete", ("a", 3)),
        ("get", "a"),
        ("priority_of", {"name": "a"}),
    ]
    assert api.server.asked == []


async def test_group_is_created_once_and_before_its_first_pod() -> None:
    made, pods, api = grouped(Answer(status=201))
    await made.create({"group": "g", "name": "a"})
    await made.create({"group": "g", "name": "b"})
    (asked,) = api.server.asked
    assert (asked.method, asked.path, asked.body) == ("POST", PATH, {"metadata": {"name": "g"}})
    assert [kind for kind, _ in pods.asked] == ["create", "create"]


async def test_group_that_is_there_is_success() -> None:
    made, pods, _ = grouped(EXISTS)
    await made.create({"group": "g"})
    assert len(pods.asked) == 1


async def test_pod_is_not_created_while_its_group_cannot_be() -> None:
    made, pods, _ = grouped(refusal(403, "Forbidden", "no right"), NOT_FOUND)
    with pytest.raises(Refused, match="no right"):
        await made.create({"group": "g"})
    with pytest.raises(Refused, match=r"podgroups\.scheduling\.volcano\.sh or namespace jobs is missing"):
        await made.create({"group": "g"})
    assert pods.asked == []


async def test_lost_answer_is_asked_for_again() -> None:
    made, pods, api = grouped(Answer(drop=True), EXISTS)
    await made.create({"group": "g"})
    assert (len(api.server.asked), len(pods.asked)) == (2, 1)


async def test_kind_that_is_served_is_accepted() -> None:
    made, _, api = grouped(Answer(body={"resources": [{"name": "queues"}, {"name": "podgroups"}]}))
    await made.require([KIND])
    assert [asked.path for asked in api.server.asked] == ["/apis/scheduling.volcano.sh/v1beta1"]


@pytest.mark.parametrize("answer", [NOT_FOUND, Answer(body={"resources": [{"name": "queues"}]})])
async def test_missing_definition_is_named(answer: Answer) -> None:
    made, _, _ = grouped(answer)
    with pytest.raises(InvalidValue, match=r"CustomResourceDefinition podgroups\.scheduling\.volcano\.sh"):
        await made.require([KIND])


async def test_server_that_does_not_say_is_no_missing_definition() -> None:
    made, _, _ = grouped(Answer(body=b"<html>"))
    with pytest.raises(Unavailable, match="malformed"):
        await made.require([KIND])


async def test_sweep_deletes_what_is_not_live_and_nothing_else() -> None:
    made, _, api = grouped(page("a", "b", continuation="next"), page("c"), NOT_FOUND, Answer())
    await made.sweep(KIND, SELECTOR, lambda: {"b"})
    asked = [(one.method, one.path.removeprefix(PATH), one.query) for one in api.server.asked]
    assert asked == [
        ("GET", "", {"labelSelector": SELECTOR, "limit": "500"}),
        ("GET", "", {"labelSelector": SELECTOR, "limit": "500", "continue": "next"}),
        ("DELETE", "/a", {}),
        ("DELETE", "/c", {}),
    ]


async def test_group_that_vanished_is_made_again_after_a_sweep() -> None:
    made, _, api = grouped(Answer(status=201), page(), Answer(status=201))
    await made.create({"group": "g"})
    await made.sweep(KIND, SELECTOR, lambda: {"g"})
    await made.create({"group": "g"})
    assert api.server.kinds == ["POST", "list", "POST"]


async def test_sweeps_go_on_after_one_that_failed() -> None:
    made, _, api = grouped(refusal(403, "Forbidden"), page("old"), Answer())
    async with asyncio.TaskGroup() as tasks:
        sweeping = tasks.create_task(made.run_sweep(lambda: (KIND,), SELECTOR, set, 60.0))
        await asyncio.sleep(125)
        sweeping.cancel()
    assert api.server.kinds == ["list", "list", "DELETE"]


async def test_kind_that_the_cluster_does_not_have_has_no_groups() -> None:
    made, _, api = grouped(NOT_FOUND)
    await made.sweep(KIND, SELECTOR, set)
    assert api.server.kinds == ["list"]


async def test_sweep_that_is_not_allowed_is_said_once() -> None:
    made, _, api = grouped(*[refusal(403, "Forbidden", "no right")] * 3)
    with capture_logs() as logs:
        async with asyncio.TaskGroup() as tasks:
            sweeping = tasks.create_task(made.run_sweep(lambda: (KIND,), SELECTOR, set, 60.0))
            await asyncio.sleep(185)
            sweeping.cancel()
    assert api.server.kinds == ["list"] * 3
    assert [line["kind"] for line in logs] == [KIND.crd_name]


async def test_kinds_that_nobody_wants_any_more_are_swept_where_that_is_allowed() -> None:
    """The second may not be listed here: that is as it should be, and not asked again."""
    closed = dataclasses.replace(KIND, plural="closed")
    made, _, api = grouped(page("old"), Answer(), refusal(403, "Forbidden", "no right"), page(), page())
    with capture_logs() as logs:
        async with asyncio.TaskGroup() as tasks:
            sweeping = tasks.create_task(made.run_sweep(lambda: (), SELECTOR, set, 60.0, (KIND, closed)))
            await asyncio.sleep(185)
            sweeping.cancel()
    paths = [(one.method, one.path.rpartition("/")[2]) for one in api.server.asked]
    lists = ("GET", "podgroups")
    assert paths == [lists, ("DELETE", "old"), ("GET", "closed"), lists, lists]
    assert [line["log_level"] for line in logs if "error" in line] == ["info"]


async def test_without_kinds_nothing_is_asked() -> None:
    made, _, api = grouped()
    await made.require([])
    assert api.server.asked == []
