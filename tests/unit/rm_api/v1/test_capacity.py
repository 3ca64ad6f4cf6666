"""The API tells what a node lends of its measured capacity: the sum, the state of the whole, and the end of it."""

from __future__ import annotations

import re
from dataclasses import asdict, replace
from typing import Any

import pytest

from tests.support.api_rows import GONE, NODE, TASK, api_get
from tests.support.loans import POLICY, lends, measured_report
from tests.support.page_figures import page_of
from tests.support.rest_world import RestWorld
from yodel.domain.colocation.emergency import MemoryEmergency
from yodel.domain.colocation.report import Bound, Figure, Pressure, WrittenReport
from yodel.domain.colocation.switch import OFF, ColocationSwitch
from yodel.domain.container import Container
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId
from yodel.domain.notices import NoticeReason
from yodel.domain.pod import PodHolding
from yodel.ports.kube_nodes import NodeObservation

CPU, MEMORY = "kubernetes.io/batch-cpu", "kubernetes.io/batch-memory"


@pytest.fixture
async def lending(filled: RestWorld) -> RestWorld:
    """Online pods use three cores of sixteen, and what was published before is a little less than what is lent."""
    lends(filled.rm, {CPU: "5000", MEMORY: str(4 << 30)})
    return filled


async def test_terms_and_steps_add_up_to_what_is_to_be_published(lending: RestWorld) -> None:
    before = await api_get(lending, f"/api/v1/nodes/{NODE.id}/capacity")
    assert (before["state"], before["source"], before["age_ms"]) == ("WAITING", None, None)
    lending.rm.facts.hear(NODE.id, "kube-1", measured_report(3_000, 4_000))
    lending.clock.advance(1.5)
    found = await api_get(lending, f"/api/v1/nodes/{NODE.id}/capacity")
    assert (found["state"], found["source"], found["age_ms"]) == ("LENDING", "cgroup v2", 1500)
    cpu, memory = found["resources"]
    for one in (cpu, memory):
        left = sum(term["amount"] for term in one["terms"])
        for step in one["steps"]:
            assert step["before"] == left
            left = step["after"]
        assert left == one["wanted"]
    # 16,000 less 40 % of them, less 500 outside of pods, less 3,000 of online pods; down to a multiple of 100.
    assert (cpu["name"], cpu["wanted"], cpu["published"], cpu["requested"]) == (CPU, 6_100, 5_000, 0)
    assert cpu["held"] == cpu["requested"]
    # 16,384 MiB less 35 % (rounded up), 500 and 4,000; down to a multiple of 64 MiB; published in bytes.
    assert [cpu["unit"], memory["unit"]] == ["m", "bytes"]
    assert {step["unit"] for step in memory["steps"][:-2]} == {"Mi"}
    assert [step["unit"] for step in memory["steps"][-2:]] == ["bytes", "bytes"]
    assert (memory["wanted"], memory["published"]) == ((16_384 - 5_735 - 500 - 4_000) // 64 * 64 << 20, 4 << 30)


async def test_what_batch_pods_are_held_to_is_told_as_decided_written_and_read(lending: RestWorld) -> None:
    bound = Bound(container="container_1_1_1_2", file="memory.max", decided=7, written=7, read=None, put_back=2)
    beside = Figure(name="best-effort-pods-of-others", amount=2)
    pressure = Pressure(source="kubepods/burstable", some_basis_points=301)
    report = replace(measured_report(3_000, 4_000), pressure=pressure)
    written = WrittenReport(policy_version=report.policy_version, groups=1, bounds=(bound,), counts=(beside,))
    lending.rm.written_limits.hear(NODE.id, "kube-1", written)
    lending.rm.facts.hear(NODE.id, "kube-1", report)
    found = await api_get(lending, f"/api/v1/nodes/{NODE.id}/capacity")
    assert (found["bounds"], found["counts"]) == ([{**asdict(bound), "overwrites": 2}], [asdict(beside)])
    assert found["pressure"] == {"source": "kubepods/burstable", "some_percent": 3.01}
    lending.rm.facts.hear(NODE.id, "kube-1", measured_report(3_000, 4_000))
    assert (await api_get(lending, f"/api/v1/nodes/{NODE.id}/capacity"))["pressure"] is None


async def test_limits_of_a_node_have_their_state_under_both_names(lending: RestWorld) -> None:
    lending.rm.use_colocation(ColocationSwitch(policy=replace(POLICY, limits=True), is_bounding=True))
    lending.rm.facts.hear(NODE.id, "kube-1", measured_report(3_000, 4_000))
    lending.rm.written_limits.hear(NODE.id, "kube-1", WrittenReport(policy_version=POLICY.version, groups=1))
    found = (await api_get(lending, "/api/v1/colocation"))["limits"]
    (node,) = found["node_list"]
    assert (found["nodes_by_limits_state"], node["limits_state"]) == ({"ENFORCED": 1}, "ENFORCED")
    assert (found["node_counts"], node["state"]) == ({"HELD": 1}, "HELD")


async def test_a_node_whose_memory_runs_short_says_so_until_it_has_cooled_down(lending: RestWorld) -> None:
    lending.rm.facts.hear(NODE.id, "kube-1", measured_report(3_000, 4_000))
    container = ContainerId(ApplicationAttemptId(ApplicationId(1, 2), 1), 3)
    short = MemoryEmergency(reason="node memory 1950 MiB of 2048 MiB (95 %)", cool_down_s=60, containers=(container,))
    assert (await api_get(lending, f"/api/v1/nodes/{NODE.id}/capacity"))["emergency"] is None
    lending.rm.facts.hear_emergency(NODE.id, "kube-1", short)
    lending.clock.advance(20.5)
    found = await api_get(lending, f"/api/v1/nodes/{NODE.id}/capacity")
    assert found["emergency"] == {"reason": short.reason, "cool_down_s": 40, "containers": [str(container)]}
    assert (found["state"], short.reason in found["why"]) == ("CLOSED", True)


async def test_a_node_that_kubernetes_does_not_know_is_404(lending: RestWorld) -> None:
    assert "node-2" in (await api_get(lending, f"/api/v1/nodes/{GONE.id}/capacity", 404))["detail"]


async def test_the_whole_tells_what_nodes_wait_for(lending: RestWorld) -> None:
    found = await api_get(lending, "/api/v1/colocation")
    assert (found["enabled"], found["preset"], found["names"]) == (True, "koordinator", [CPU, MEMORY])
    assert (found["units"][CPU], found["units"][MEMORY]) == ("m", "bytes")
    assert found["node_counts"] == {"WAITING": 1}
    lending.rm.facts.hear(NODE.id, "another", measured_report(3_000, 4_000))
    lending.rm.use_colocation(OFF)
    found = await api_get(lending, "/api/v1/colocation")
    (node,) = found["node_list"]
    assert (found["enabled"], node["state"]) == (False, "GOING")
    assert (node["published"], node["requested"]) == ({CPU: 5000, MEMORY: 4 << 30}, {CPU: 0, MEMORY: 0})
    assert node["held"] == node["requested"]
    assert found["put_backs"] == found["overwrites"] == 0
    (agent,) = found["refused_agents"]
    assert (agent["id"], "token belongs to another" in agent["why"]) == (str(NODE.id), True)


async def test_containers_are_ended_by_administrators_once_it_is_off(lending: RestWorld) -> None:
    async def end(user: str) -> int:
        lending.client.cookies.clear()
        answer = await lending.client.post("/api/v1/colocation/end-containers", params={"user.name": user})
        return answer.status_code

    assert await end("admin") == 409
    lending.rm.use_colocation(OFF)
    assert await end("alice") == 403
    assert await end("admin") == 200


async def test_the_page_of_nodes_has_a_column_only_where_something_is_lent(lending: RestWorld) -> None:
    page = (await lending.client.get("/cluster/nodes")).text
    assert "<th>Lends</th>" in page
    assert f"WAITING: {CPU} 5000m, {MEMORY} 4096Mi" in page


async def test_the_page_of_a_node_has_the_sum_of_the_api(lending: RestWorld) -> None:
    lending.rm.facts.hear(NODE.id, "kube-1", measured_report(3_000, 4_000))
    found = await api_get(lending, f"/api/v1/nodes/{NODE.id}/capacity")
    page = await page_of(lending, f"/cluster/node/{NODE.id}")
    assert "Lent capacity" in page
    for one in found["resources"]:
        table = page.split(f"<h3>{one['name']}</h3>")[1].split("</table>")[0]
        rows = re.findall(r'<td>(.*?)</td><td data-label="Left">(?:<b>)?(.*?)(?:</b>)?</td>', table)
        assert len(rows) == len(one["terms"]) + len(one["steps"]) + 1
        unit = "m" if one["resource"] == "cpu_milli" else "Mi"
        left = 0
        for (amount, shown), term in zip(rows, one["terms"], strict=False):
            left += term["amount"]
            assert (amount, shown) == (f"{term['amount']:+}{unit}", f"{left}{unit}")
    assert "<b>6100m</b>" in page
    assert "5000m published, 0m requested by pods" in page
    assert f'href="/cluster/container/{TASK.id}"' in page
    assert "Lent capacity" not in (await lending.client.get(f"/cluster/node/{GONE.id}")).text
    assert (await lending.client.get("/cluster/node/nowhere:1")).status_code == 404
    assert (await lending.client.get("/cluster/node/nonsense")).status_code == 400


async def test_an_installation_without_it_notices_nothing(filled: RestWorld) -> None:
    assert "Lends" not in (await filled.client.get("/cluster/nodes")).text
    assert filled.rm.capacities.gauges() == {}
    filled.rm.facts.node_seen(NodeObservation(name="kube-1", uid="u", resource_version="1"))
    assert (await api_get(filled, f"/api/v1/nodes/{NODE.id}/capacity"))["state"] == "OFF"
    assert (await api_get(filled, "/api/v1/colocation"))["node_counts"] == {"OFF": 1}


async def test_a_node_is_taken_back_by_administrators_and_a_dry_run_changes_nothing(lending: RestWorld) -> None:
    async def evict(user: str, body: dict[str, int], node: object = NODE.id, dry_run: str = "true") -> Any:
        lending.client.cookies.clear()
        params = {"user.name": user, "dry_run": dry_run}
        return await lending.client.post(f"/api/v1/nodes/{node}/evict", params=params, json=body)

    assert (await evict("admin", {})).status_code == 409, "it lends nothing yet"
    lending.rm.facts.hear(NODE.id, "kube-1", measured_report(3_000, 4_000))
    for one in list(lending.rm.state.live_containers()):
        lending.rm.binder.holding_seen(_pod(one, lending.rm.maker.profiles.default.namespace))
    assert (await evict("alice", {})).status_code == 403
    assert (await evict("admin", {}, "node-9:1")).status_code == 404
    assert (await evict("admin", {"cpu_milli": -1})).status_code == 400
    found = (await evict("admin", {})).json()
    assert [victim["is_am"] for victim in found["victims"]] == [False, True]
    assert (found["fits"], found["notice_s"], found["held"]) == (True, 30, found["requested"])
    assert lending.rm.state.notices.count(NoticeReason.LENT_CAPACITY) == 0
    told = (await evict("admin", {}, dry_run="false")).json()["victims"]
    assert lending.rm.state.notices.count(NoticeReason.LENT_CAPACITY) == 2
    application_id = told[0]["container"].replace("container", "application")[: -len("_01_000002")]
    (shown,) = [
        one["notice"]
        for one in (await api_get(lending, f"/api/v1/applications/{application_id}/containers"))["items"]
        if one["id"] == told[0]["container"]
    ]
    assert (shown["cause"], shown["containers"], shown["left_s"]) == ("lent capacity", 1, 30.0)
    assert shown["reason"] == "loan", "its former name, in the deprecated field"
    why = await api_get(lending, f"/api/v1/applications/{application_id}/why")
    assert [(one["cause"], one["containers"]) for one in why["notices"]] == [("lent capacity", 2)]


def _pod(container: Container, namespace: str) -> PodHolding:
    """Return a container's pod as it is seen on its node."""
    return PodHolding(
        namespace=namespace,
        name=container.pod,
        uid="u",
        resource_version="1",
        node_name="kube-1" if container.node_id == NODE.id else "",
        amounts={CPU: container.reserved.vcores * 1_000_000, MEMORY: (container.reserved.memory_mib << 20) * 1000},
        application=str(container.id.application_id),
    )
