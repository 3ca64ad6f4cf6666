"""The page for the owner of a service shows sums that add up, in words of Kubernetes."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.support.api_rows import NODE, api_get
from tests.support.loans import lends, measured_report
from tests.support.page_figures import page_of
from tests.support.records import a_node
from tests.support.rest_world import RestWorld, rest_world
from yodel.domain.colocation.emergency import MemoryEmergency
from yodel.domain.colocation.report import CPU_MILLI, Loan, Pressure, Term
from yodel.domain.states import NodeState
from yodel.ports.kube_nodes import NodeObservation
from yodel.rm_api.ui import lending
from yodel.rm_api.ui.frame import plain
from yodel.rm_api.v1.process_facts import ProcessFacts

PATH = "/cluster/lending"
YARN = re.compile(
    r"container|applicationmaster|application|queue|vcore|resourcemanager|nodemanager|yarn|hadoop", re.IGNORECASE
)


def main_part(page: str) -> str:
    found = re.search(r"<main.*?</main>", page, re.DOTALL)
    assert found is not None
    return found[0]


async def shown(world: RestWorld, query: str = "") -> str:
    part = main_part(await page_of(world, PATH + query))
    assert YARN.findall(re.sub(r"<[^>]*>", "", part)) == []
    return part


def cells(page: str) -> list[list[str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", page.partition("<tbody>")[2], re.DOTALL)
    return [
        [re.sub(r"<[^>]*>", "", cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)] for row in rows
    ]


def amount(text: str) -> float:
    number, unit = text.split()
    return float(number) * {"GiB": 1024}.get(unit, 1)


async def test_each_line_adds_up_to_what_is_lent_and_is_that_of_the_api(world: RestWorld) -> None:
    await world.put(NODE)
    lends(world.rm)
    pressure = Pressure(source="kubepods/burstable", some_basis_points=301)
    world.rm.facts.hear(NODE.id, "kube-1", replace(measured_report(3_000, 4_000), pressure=pressure))
    page = await shown(world)
    rows = cells(page)
    assert [(row[0], row[1]) for row in rows] == [("kube-1lends", "CPU"), ("", "memory")]
    for row in rows:
        *parts, lent = (amount(text) for text in row[2:8])
        assert round(sum(parts), 6) == lent
    assert rows[0][2:] == [
        *("16 cores", "-6.4 cores", "-0.5 cores", "-3 cores", "0 cores", "6.1 cores"),
        *("0 cores", "3.01 % of the last ten seconds"),
    ]
    whole = await api_get(world, "/api/v1/colocation")
    (one,) = (await api_get(world, "/api/v1/colocation/nodes"))["items"]
    assert one == await api_get(world, f"/api/v1/nodes/{NODE.id}/capacity")
    assert [amount(row[7]) for row in rows] == [whole["lent"]["cpu_milli"] / 1000, whole["lent"]["memory_mib"]]
    assert "<dt>CPU lent</dt><dd>6.1 cores</dd>" in page
    assert f'href="/cluster/node/{NODE.id}">kube-1</a>' in page


async def test_a_fixed_amount_is_no_sum(world: RestWorld) -> None:
    await world.put(NODE)
    lends(world.rm)
    fixed = Loan(
        resource=CPU_MILLI,
        amount=800,
        measured=(),
        terms=(Term(name="static", amount=800, why="fixed amount of the policy"),),
        steps=(),
    )
    world.rm.facts.hear(NODE.id, "kube-1", replace(measured_report(3_000, 4_000), loans=(fixed,)))
    (row,) = cells(await shown(world))
    assert row[1:] == ["CPU", "a fixed amount, 0.8 cores, whatever services use", "0.8 cores", "0 cores", ""]


async def test_what_was_taken_from_batch_is_counted_since_the_start() -> None:
    async with rest_world(facts=ProcessFacts(started_ms=1_700_000_000_000)) as world:
        await world.put(NODE)
        lends(world.rm)
        world.rm.taking_back.given_count, world.rm.taking_back.ended_count = 5, 3
        world.rm.reports.preempted_count = 2
        whole = await api_get(world, "/api/v1/colocation")
        page = await shown(world)
    assert (whole["preemption_notices"], whole["preempted_containers"], whole["emergency_containers"]) == (5, 3, 2)
    since = '<time datetime="2023-11-14T22:13:20Z">2023-11-14 22:13:20 UTC</time>'
    assert f"<dt>Batch pods asked to leave</dt><dd>5 since {since}</dd>" in page
    assert "<dt>Stopped because services needed the node</dt><dd>3</dd>" in page
    assert "<dt>Stopped because memory was low</dt><dd>2</dd>" in page


async def test_a_node_is_chosen_by_name_and_states_are_in_words(world: RestWorld) -> None:
    await world.put(NODE, a_node("node-9", state=NodeState.RUNNING, kubernetes_node_name="kube-9"))
    lends(world.rm)
    machine = {"cpu": "4", "memory": "4Gi"}
    other = NodeObservation(
        name="kube-9", uid="v", resource_version="1", ready=True, capacity=machine, allocatable=machine
    )
    world.rm.facts.node_seen(other)
    world.rm.facts.hear(NODE.id, "kube-1", measured_report(3_000, 4_000))
    short = MemoryEmergency(reason="node memory 1950 MiB of 2048 MiB (95 %)", cool_down_s=60, containers=())
    world.rm.facts.hear_emergency(NODE.id, "kube-1", short)
    page = await shown(world)
    assert [row[0] for row in cells(page)] == [
        f"kube-1services need it: no new batch podsmemory is low: {short.reason}",
        "",
        "kube-9not measured yet: no batch pods",
    ]
    page = await shown(world, "?node=kube-9")
    assert ["kube-1" in page, "kube-9" in page, "yodel colocation evict kube-9" in page] == [False, True, True]
    strange = "$(reboot)%3Cb%3E"
    page = await shown(world, f"?node={strange}")
    assert "Nothing is lent of a node $(reboot)&lt;b&gt;." in page
    assert "evict &#39;$(reboot)&lt;b&gt;&#39;" in page


async def test_nodes_are_listed_a_page_at_a_time(world: RestWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lending, "NODES_LISTED_MAX", 1)
    await world.put(NODE, a_node("node-2", state=NodeState.RUNNING, kubernetes_node_name="kube-2"))
    lends(world.rm)
    machine = {"cpu": "4", "memory": "4Gi"}
    world.rm.facts.node_seen(
        NodeObservation(name="kube-2", uid="v", resource_version="1", ready=True, capacity=machine, allocatable=machine)
    )
    world.rm.facts.hear(NODE.id, "kube-1", measured_report(3_000, 4_000))
    first = await shown(world)
    (more,) = re.findall(rf'href="{PATH}([?]after=[^"]+)">More nodes', first)
    second = await shown(world, more)
    assert ["kube-1" in first, "kube-2" in first, "More nodes" in second] == [True, False, False]
    assert (await world.client.get(f"{PATH}?after=nonsense")).status_code == 400


async def test_where_nothing_is_lent_the_page_says_so(world: RestWorld) -> None:
    page = await shown(world)
    assert "it is switched off, and nothing of it is left on any node" in page


@pytest.mark.parametrize(
    ("amount", "unit", "text"),
    [
        (6_100, "m", "6.1 cores"),
        (1_000, "m", "1 core"),
        (-2, "cores", "-2 cores"),
        (1_234_567, "m", "1234.567 cores"),
        (5_735, "Mi", "5735 MiB"),
        (4 << 30, "bytes", "4 GiB"),
        (1, "bytes", "1 bytes"),
    ],
)
def test_amounts_are_said_as_people_say_them(amount: int, unit: str, text: str) -> None:
    assert plain(amount, unit) == text
