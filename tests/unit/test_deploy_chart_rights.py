"""The chart's rights are what yodel/kube asks the API server for, and nothing else."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from yodel.domain.ids import ApplicationId
from yodel.host.clock import SystemClock
from yodel.kube import inspection
from yodel.kube.api import ApiRequest
from yodel.kube.groups import GroupedPods
from yodel.kube.holdings import watched_holdings
from yodel.kube.node_status import KubeNodeStatuses
from yodel.kube.nodes import list_nodes, watched_nodes
from yodel.kube.own_pod import OwnPod
from yodel.kube.pod_driver import PodDriver
from yodel.kube.watch_loop import watch, watched_pods
from yodel.ports.inspection import ListedApplication, PodEvent
from yodel.translator.dialects import GangKind
from yodel.translator.pod_spec import Group

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy" / "helm" / "yodel"
SUMMARY = ListedApplication(
    id=ApplicationId(1, 1),
    name="n",
    type="SPARK",
    user="u",
    queue="root.default",
    state="RUNNING",
    final_status="UNDEFINED",
    containers=1,
    memory_mib=1,
    vcores=1,
    submitted_ms=1,
    finished_ms=0,
)
EVENT = PodEvent(pod_name="p", pod_uid="u", reason="Allocated", message="m", at_ms=1)
# Who in yodel/kube asks the API server for what: (module, verb, resource).  The chart's rules are these and no others.
CALLS = {
    "pod_driver": {("create", "pods"), ("delete", "pods"), ("get", "pods"), ("patch", "pods/resize")},
    "watch_loop": {(verb, kind) for verb in ("list", "watch") for kind in ("pods", "nodes", "pods everywhere")},
    "nodes": {("list", "nodes")},
    # Whether one may is asked by everybody who is known.
    "node_status": {("patch", "nodes/status"), ("create", "selfsubjectaccessreviews.authorization.k8s.io")},
    "own_pod": {("get", "pods")},  # in the release's namespace
    # Server-side apply is a patch, and a create where there was nothing.
    "inspection": {
        ("create", "events"),
        *((verb, "yarnapplications.yodel.io") for verb in ("create", "delete", "list", "patch")),
    },
    # Of an engine's own API group: a rule only where rbac.podGroups names it.
    "groups": {(verb, "podgroups.scheduling.example") for verb in ("create", "delete", "list")},
    "client": set(),  # /version: everybody who is known may ask
}
CLUSTER_WIDE = {"nodes"}
# Rules only where rbac.allPods asks for them.
EVERYWHERE = {("list", "pods everywhere"), ("watch", "pods everywhere")}
# A rule only where rbac.nodeStatus or colocation.enabled asks for it.
PUBLISHING = {("patch", "nodes/status")}
GROUPS = GangKind(api_version="scheduling.example/v1", kind="PodGroup", plural="podgroups")


class _Recorded(Exception):
    """The watch was opened: enough was seen."""


class _Api:
    """Answers whatever is asked, and keeps what was asked."""

    def __init__(self) -> None:
        self.asked: list[ApiRequest] = []

    async def call(self, request: ApiRequest) -> bytes:
        self.asked.append(request)
        if request.method == "GET" and "limit" in request.query:
            return b'{"metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"over"}}]}'
        if "accessreviews" in request.path:
            return b'{"status":{"allowed":true}}'
        return b'{"metadata":{"name":"p","namespace":"n","uid":"u","resourceVersion":"7"},"spec":{},"status":{}}'

    @asynccontextmanager
    async def stream(self, request: ApiRequest) -> AsyncIterator[AsyncIterator[bytes]]:
        self.asked.append(request)
        raise _Recorded
        yield  # type: ignore[unreachable]


class _Sink:
    def __getattr__(self, name: str) -> Any:
        return lambda *_: None


def asked_for(request: ApiRequest) -> set[tuple[str, str]]:
    """(verb, resource) as the API server's authorizer sees it: one, or two where a patch may make the object."""
    parts = request.path.strip("/").split("/")
    first = 2 + (parts[0] == "apis")
    parts = parts[parts.index("namespaces") + 2 :] if "namespaces" in parts else parts[first:]
    resource = "/".join([parts[0], *parts[2:]])
    if resource == "pods" and "namespaces" not in request.path:
        resource += " everywhere"
    if request.path.startswith("/apis/"):
        resource += "." + request.path.split("/")[2]
    if request.method == "GET":
        verb = "get" if len(parts) > 1 else "watch" if "watch" in request.query else "list"
    else:
        verb = {"POST": "create", "DELETE": "delete", "PATCH": "patch", "PUT": "update"}[request.method]
    is_apply = request.content_type == inspection.APPLY
    return {(verb, resource)} | ({("create", resource)} if is_apply else set())


async def asked_by(module: str) -> set[tuple[str, str]]:
    """Return what the module's functions ask for, found by calling them."""
    api = _Api()
    if module == "pod_driver":
        driver = PodDriver(api, "n")
        pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "main", "resources": {}}]}}
        await driver.create(pod)
        await driver.get("p")
        await driver.resize(pod)
        await driver.priority_of(pod)
        await driver.delete("p")
    elif module == "groups":
        group = Group(kind=GROUPS, name="g", manifest={})
        grouped = GroupedPods(PodDriver(_Api(), "n"), api, "n", lambda _: group)
        await grouped.create({"metadata": {"name": "p"}})
        await grouped.sweep(GROUPS, "", set)
    elif module == "inspection":
        await inspection.KubePodEvents(api, "n").tell(EVENT)
        board = inspection.KubeApplicationBoard(api, "n", "c")
        await board.show(SUMMARY)
        await board.shown()
        await board.hide(SUMMARY.id)
    elif module == "nodes":
        await list_nodes(api)
    elif module == "node_status":
        statuses = KubeNodeStatuses(api)
        await statuses.publish("node", {"a/b": 1})
        await statuses.missing_rights()
    elif module == "own_pod":
        assert await OwnPod(api, SystemClock(), namespace="n", name="p").look() is None
    elif module == "watch_loop":
        with pytest.raises(_Recorded):
            await watch(api, watched_pods("n", "", _Sink()), clock=lambda: 0.0, random=lambda: 0.5)
        with pytest.raises(_Recorded):
            await watch(api, watched_nodes("", _Sink()), clock=lambda: 0.0, random=lambda: 0.5)
        with pytest.raises(_Recorded):
            await watch(api, watched_holdings(_Sink()), clock=lambda: 0.0, random=lambda: 0.5)
    return set().union(*map(asked_for, api.asked))


@pytest.mark.parametrize("module", CALLS)
async def test_the_table_of_calls_is_what_the_code_asks(module: str) -> None:
    async with asyncio.timeout(60):
        assert await asked_by(module) == CALLS[module]


def test_no_other_module_asks_the_api_server() -> None:
    modules = sorted((ROOT / "yodel" / "kube").glob("*.py"))
    found = {path.stem for path in modules if re.search(r"(?<![\w.])(?<!class )ApiRequest\(", path.read_text())}
    assert found == set(CALLS), "add its calls to CALLS, and the right to deploy/helm/yodel/templates/rbac.yaml"


@pytest.mark.parametrize(("kind", "is_cluster_wide"), [("Role", False), ("ClusterRole", True)])
def test_the_rights_are_exactly_the_calls(kind: str, is_cluster_wide: bool) -> None:
    calls = set().union(*CALLS.values()) - CALLS["groups"] - EVERYWHERE - CALLS["node_status"]
    wanted = {call for call in calls if (call[1] in CLUSTER_WIDE) is is_cluster_wide}
    granted = []
    for document in (ROOT / "deploy" / "manifests" / "yodel.yaml").read_text().split("\n---\n"):
        found = yaml.safe_load(document)
        if found["kind"] != kind:
            continue
        if found["metadata"]["name"] == "yodel-rm-self":
            assert found["metadata"]["namespace"] == "yodel"
            assert {(verb, *rule["resources"]) for rule in found["rules"] for verb in rule["verbs"]} == CALLS["own_pod"]
            continue
        for rule in found["rules"]:
            assert set(rule) == {"apiGroups", "resources", "verbs"}
            (group,) = rule["apiGroups"]
            resources = [f"{resource}.{group}".strip(".") for resource in rule["resources"]]
            granted += [(verb, resource) for verb in rule["verbs"] for resource in resources]
    assert sorted(granted) == sorted(wanted)


def test_the_rule_for_all_pods_has_their_calls_and_is_a_cluster_role_s() -> None:
    text = (CHART / "templates" / "rbac.yaml").read_text()
    cluster_role = text[text.index("kind: ClusterRole") : text.index("kind: ClusterRoleBinding")]
    rule = re.search(
        r"if or \.Values\.rbac\.allPods \.Values\.colocation\.enabled.*?"
        r"resources: \[([a-z]+)\]\s+verbs: \[([a-z, ]+)\].*?end",
        cluster_role,
        re.DOTALL,
    )
    assert rule is not None
    assert {(verb, f"{rule[1]} everywhere") for verb in rule[2].split(", ")} == EVERYWHERE


def test_the_rule_for_publishing_has_its_call_and_is_a_cluster_role_s() -> None:
    text = (CHART / "templates" / "rbac.yaml").read_text()
    cluster_role = text[text.index("kind: ClusterRole") : text.index("kind: ClusterRoleBinding")]
    asked = r"if or \.Values\.rbac\.nodeStatus \.Values\.colocation\.enabled"
    found = r".*?resources: \[([a-z/]+)\]\s+verbs: \[([a-z, ]+)\].*?end"
    rule = re.search(asked + found, cluster_role, re.DOTALL)
    assert rule is not None
    assert {(verb, rule[1]) for verb in rule[2].split(", ")} == PUBLISHING
    assert CALLS["node_status"] > PUBLISHING


def test_the_rule_for_groups_has_their_calls() -> None:
    text = (CHART / "templates" / "rbac.yaml").read_text()
    rule = re.search(r"range \.Values\.rbac\.podGroups.*?verbs: \[([a-z, ]+)\].*?end", text, re.DOTALL)
    assert rule is not None
    assert {(verb, "podgroups.scheduling.example") for verb in rule[1].split(", ")} == CALLS["groups"]
