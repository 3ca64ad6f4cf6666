"""Colocation from the command line: switched on and off, and a node's sum."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import httpx2
import pytest
from typer.testing import CliRunner

from tests.support.api_rows import NODE, fill
from tests.support.fakes import FakePods
from tests.support.loans import measured_report
from tests.support.rm_options import POD_SETTINGS
from tests.support.served_world import Served, serving_world
from yodel import cli
from yodel.client import api, colocation
from yodel.domain.colocation.emergency import Emergency
from yodel.domain.colocation.report import OTHERS_PODS, Bound, Figure, Pressure, WrittenReport
from yodel.domain.colocation.switch import ColocationSwitch
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId
from yodel.domain.lent_limit import LentLimit
from yodel.errors import Refused
from yodel.ports.kube_nodes import NodeObservation
from yodel.services.nodes.taking_back import TakingBack
from yodel.translator.dialects import dialect
from yodel.translator.pools import rules_of
from yodel.translator.profiles import PodProfiles
from yodel.translator.undo_lines import undo_lines, unpublish_line, unpublish_lines

CPU, MEMORY = "kubernetes.io/batch-cpu", "kubernetes.io/batch-memory"


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """One node, whose online pods use three cores of sixteen."""
    with serving_world(monkeypatch) as made:
        rm = made.world.rm
        machine = {"cpu": "16", "memory": "16Gi", CPU: "5000", MEMORY: str(4 << 30)}
        annotations = {"yodel.io/colocation": f"{CPU},{MEMORY}"}
        node = NodeObservation(
            name="kube-1",
            uid="u",
            resource_version="1",
            ready=True,
            capacity=machine,
            allocatable=machine,
            annotations=annotations,
        )

        def prepare() -> None:
            rm.lending.use(rules_of(dialect("koordinator"), {}, 1000))
            rm.facts.node_seen(node)
            rm.binder.holdings_listed([])

        made.await_on_loop(fill(made.world))
        made.on_loop(prepare)
        yield made


def unpublish(served: Served, name: str = "kube-1") -> None:
    """The watch shows that the names are gone."""
    gone = replace(without_names(served.world.rm.facts.observed("kube-1")), name=name)
    served.on_loop(lambda: served.world.rm.facts.node_seen(gone))


def without_names(node: NodeObservation) -> NodeObservation:
    return replace(node, resource_version="9", capacity={}, allocatable={}, annotations={})


def hear(served: Served) -> None:
    policy = served.world.rm.facts.terms.colocation.policy
    assert policy is not None
    report = measured_report(3_000, 4_000, policy.version)
    served.on_loop(lambda: served.world.rm.facts.hear(NODE.id, "kube-1", report))


def test_it_is_switched_on_explained_and_switched_off(served: Served) -> None:
    done = served.invoke("colocation", "on", "--preset", "koordinator", "window-s=20", "--reason", "nights")
    assert done.exit_code == 0, done.output
    assert "yodel.colocation.window-s\t-\t20" in done.stdout
    assert served.world.rm.facts.terms.colocation.is_on
    hear(served)
    lines = served.invoke("node", "explain", "kube-1").stdout.splitlines()
    assert lines[0].startswith("kube-1 is LENDING")
    sums = [found[1] for line in lines if (found := re.search(r"(\d+(?:m|Mi)) sum", line))]
    units = ("m", "Mi")
    terms = [re.findall(rf"^ +([+-]\d+){unit} ", text, re.M) for unit, text in zip(units, by_name(lines), strict=True)]
    assert [f"{sum(map(int, found))}{unit}" for found, unit in zip(terms, units, strict=True)] == sums
    for line in ("6100m unit: ", "6144Mi unit: ", "4096Mi published, 0Mi requested by pods", "6144Mi to be"):
        assert any(one.strip().startswith(line) for one in lines), (line, lines)
    status = served.invoke("colocation", "status").stdout
    assert "Colocation   on" in status
    assert re.search(r"^Lent +6\.1 cores, 6 GiB$", status, re.M)
    assert re.search(rf"^Published +{CPU} 5000m, {MEMORY} 4096Mi$", status, re.M)
    assert f"{CPU}, {MEMORY}" in status
    off = served.invoke("colocation", "off")
    assert off.exit_code == 0, off.output
    assert not served.world.rm.facts.terms.colocation.is_on
    assert "kube-1\tGOING" in off.stdout


def test_what_could_not_be_told_of_pods_is_a_warning(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(pods: FakePods, manifest: object) -> int:
        raise Refused('pods "a" is forbidden: exceeded quota: all')

    batch = PodProfiles(default=replace(POD_SETTINGS, dialect=dialect("koordinator")), by_queue={})
    served.on_loop(lambda: served.world.rm.maker.use(batch))
    monkeypatch.setattr(FakePods, "priority_of", full)
    done = served.invoke("colocation", "on")
    assert done.exit_code == 0, done.output
    assert "warning: cannot determine whether batch pods can be created and are evicted before" in done.stderr
    assert "services: exceeded quota: all" in done.stderr
    assert served.world.rm.facts.terms.colocation.is_on
    assert "warning" not in served.invoke("colocation", "on", "window-s=20").output, "it is on"


def test_limits_are_said_shown_and_taken_back(served: Served) -> None:
    on = served.invoke("colocation", "on", "limits=true")
    assert on.exit_code == 0, on.output
    policy = served.world.rm.facts.terms.colocation.policy
    assert policy is not None
    assert (policy.limits, policy.quota) == (True, False)
    bounds = (
        Bound(container="", file="cpu.max", decided=4, written=4, read=5, put_back=1),
        Bound(container="c1", file="cpu.shares", decided=6, written=6, read=6),
        Bound(container="c1", file="memory.max", decided=7, written=None, read=-1, put_back=2, why="not written: no"),
    )
    pressure = Pressure(source="kubepods/burstable", some_basis_points=1562)
    report = replace(measured_report(3_000, 4_000, policy.version), pressure=pressure)
    counts = (Figure(name=OTHERS_PODS, amount=3),)
    written = WrittenReport(policy_version=policy.version, groups=1, bounds=bounds, counts=counts)
    served.on_loop(lambda: served.world.rm.written_limits.hear(NODE.id, "kube-1", written))
    served.on_loop(lambda: served.world.rm.facts.hear(NODE.id, "kube-1", report))
    assert served.invoke("node", "explain", "kube-1").stdout.splitlines()[-7:] == [
        "CPU pressure of online pods: 15.62 % of the last 10 s (kubepods/burstable)",
        "",
        "limits of batch pods (-1: no limit)",
        "  all best-effort pods cpu.max: decided 4, written 4, read 5, overwritten and restored 1 times",
        "  c1 cpu.shares: decided 6, written 6, read 6",
        "  c1 memory.max: decided 7, written -, read -1, overwritten and restored 2 times (not written: no)",
        "best-effort-pods-of-others: 3",
    ]
    assert "share the quota" not in served.invoke("colocation", "status").stdout, "there is none"
    assert served.invoke("colocation", "on", "limits=false", "quota=true").exit_code == 0
    assert re.search(r"^Other pods +3 share the quota$", served.invoke("colocation", "status").stdout, re.M)
    policy = served.world.rm.facts.terms.colocation.policy
    assert policy is not None
    assert (policy.limits, policy.quota) == (False, True)
    refused = served.invoke("colocation", "on", "limits=yes")
    assert refused.exit_code != 0
    assert "yodel.colocation.limits: 'yes'; expected true or false" in refused.output


def test_a_node_whose_memory_runs_short_says_what_was_measured_and_who_was_ended(served: Served) -> None:
    assert served.invoke("colocation", "on").exit_code == 0
    hear(served)
    container = ContainerId(ApplicationAttemptId(ApplicationId(1, 2), 1), 3)
    short = Emergency(reason="node memory 1.9 GiB of 2.0 GiB (95 %)", cool_down_s=60, containers=(container,))
    served.on_loop(lambda: served.world.rm.facts.hear_emergency(NODE.id, "kube-1", short))
    lines = served.invoke("node", "explain", "kube-1").stdout.splitlines()
    assert lines[0].startswith(f"kube-1 is CLOSED: memory is short: {short.reason}; closed to new pods for ")
    assert lines[2:4] == [f"low memory: {short.reason}", f"  {container} was stopped because of it"]


def test_off_waits_until_nothing_is_left_and_says_what_to_run_elsewhere(served: Served) -> None:
    rm = served.world.rm
    served.invoke("colocation", "on", "limits=true")

    def confirm(groups: int) -> None:
        said = WrittenReport(groups=groups)
        served.on_loop(lambda: rm.written_limits.hear(NODE.id, "kube-1", said))

    confirm(2)
    assert "Node agents are removing limits" in served.invoke("colocation", "off").stderr
    late = served.invoke("colocation", "off", "--wait", "0")
    assert late.exit_code == 1, late.output
    assert "kube-1: cleanup not confirmed by the node agent yet." in late.stdout
    lines = late.stdout.partition("As root on kube-1:\n")[2].splitlines()
    assert [line.strip() for line in lines] == [*undo_lines("")]
    assert "kube-1: closed to new pods: the published value follows what its pods request" in late.stdout
    lines = late.stdout.partition("With kubectl, once no batch pod is left there:\n")[2].splitlines()
    assert lines[0].strip() == unpublish_line("kube-1", (CPU, MEMORY))
    served.on_loop(lambda: rm.nodes.give_up(NODE.id))
    assert "kube-1\tSILENT\t2\t\tno report from the node agent" in served.invoke("colocation", "status").stdout

    confirm(0)
    late = served.invoke("colocation", "off", "--wait", "0")
    assert (late.exit_code, "As root" in late.stdout) == (1, False), late.output
    unpublish(served)
    confirm(2)
    late = served.invoke("colocation", "off", "--wait", "0")
    assert (late.exit_code, "kubectl" in late.stdout) == (1, False), late.output

    answers = threading.Timer(0.2, confirm, [0])
    answers.start()
    done = served.invoke("colocation", "off", "--wait", "60")
    answers.join()
    assert done.exit_code == 0, done.output
    assert "kube-1: cleaned up at 20" in done.stdout
    assert re.search(r"^Limits +1 UNDONE$", served.invoke("colocation", "status").stdout, re.M)


def test_off_tells_of_names_that_go_and_takes_no_resource_manager_that_saw_no_node_for_done(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    served.invoke("colocation", "on")
    answer, looks = served._answer, list[str]()

    async def answered(request: httpx2.Request) -> httpx2.Response:
        found = await answer(request)
        if request.url.path.endswith("/colocation"):
            looks.append(request.url.path)
        if len(looks) == 1:  # it has seen that the names are there
            publishing = served.world.rm.facts
            served.world.rm.facts.node_seen(without_names(publishing.observed("kube-1")))
        return found

    monkeypatch.setattr(served, "_answer", answered)
    done = served.invoke("colocation", "off", "--wait", "60")
    assert (done.exit_code, "kube-1: nothing is published anymore." in done.stdout) == (0, True), done.output
    served.on_loop(lambda: served.world.rm.facts.nodes_listed([]))
    early = served.invoke("colocation", "off", "--wait", "0")
    assert early.exit_code == 1
    assert "The ResourceManager has not seen any Kubernetes node yet." in early.stdout


def test_a_grace_period_is_waited_for_before_what_is_left_is_ended(served: Served) -> None:
    rm = served.world.rm
    alone = served.invoke("colocation", "off", "--grace-period", "5")
    assert (alone.exit_code, "needs --now" in alone.stderr) == (2, True), alone.output
    served.invoke("colocation", "on")
    hear(served)
    live = [*rm.state.live_containers()]
    answers = threading.Timer(0.2, unpublish, [served])
    answers.start()
    done = served.invoke("colocation", "off", "--now", "--grace-period", "60")
    answers.join()
    assert (done.exit_code, "being ended" in done.stderr) == (0, False), done.output
    assert [*rm.state.live_containers()] == live


def test_what_starts_after_now_is_ended_too_while_it_waits(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its pod was made before, and found room when others had ended."""
    ended, taking_back = list[int](), served.world.rm.taking_back

    async def end_containers(user: str) -> int:
        ended.append(await TakingBack.end_containers(taking_back, user))
        if len(ended) == 3:
            unpublish_here()
        return ended[-1]

    node = served.world.rm.facts.observed("kube-1")
    gone = replace(node, resource_version="9", capacity={}, allocatable={}, annotations={})

    def unpublish_here() -> None:
        served.world.rm.facts.node_seen(gone)

    monkeypatch.setattr(taking_back, "end_containers", end_containers)
    monkeypatch.setattr(colocation, "LOOK_S", 0.01)
    served.invoke("colocation", "on")
    hear(served)
    done = served.invoke("colocation", "off", "--now", "--wait", "60")
    assert (done.exit_code, ended) == (0, [2, 0, 0]), done.output


def test_without_a_resource_manager_off_says_what_to_run_on_any_node(monkeypatch: pytest.MonkeyPatch) -> None:
    transport = httpx2.MockTransport(lambda request: httpx2.Response(503, text="starting"))
    monkeypatch.setattr(api, "RmClient", partial(api.RmClient, transport=transport))
    monkeypatch.setenv("YODEL_SERVER", "http://rm:8088")
    done = CliRunner().invoke(cli.app, ["colocation", "off", "--wait", "60"])
    assert done.exit_code == 1
    assert [line.removeprefix("  ") for line in done.stdout.splitlines() if line.startswith("  ")] == [
        *unpublish_lines(),
        *undo_lines(""),
    ]
    assert "No ResourceManager answers." in done.stdout


def by_name(lines: list[str]) -> list[str]:
    """The lines of each published name."""
    return "\n".join(lines).split("\n\n")[1:]


def test_what_cannot_be_said_is_refused_and_changes_nothing(served: Served) -> None:
    for words, text in (
        (("cpu.share-percent=101",), "Invalid yodel.colocation.cpu.share-percent: '101'"),
        (("colour=red",), "yodel.colocation.colour is not supported"),
        (("enabled=true",), "an option of the policy as NAME=VALUE"),
        (("--dialect", "native"), "the kubelet publishes cpu and memory"),
        (("--dialect", "katalyst"), "expected a dialect that queues use: koordinator"),
    ):
        refused = served.invoke("colocation", "on", *words)
        assert (refused.exit_code, text in refused.stderr) == (2, True), refused.output
    served.user = "alice"
    assert served.invoke("colocation", "on").exit_code == 1
    assert served.invoke("colocation", "off", "--now").exit_code == 1
    assert served.world.rm.facts.terms.colocation == ColocationSwitch()


def test_off_now_ends_what_runs_there(served: Served) -> None:
    served.invoke("colocation", "on")
    hear(served)
    done = served.invoke("colocation", "off", "--now")
    assert "Stopping 2 containers." in done.stderr, done.output


def test_evict_names_who_goes_and_why_and_changes_nothing_in_a_dry_run(served: Served) -> None:
    served.invoke("colocation", "on")
    hear(served)
    rm = served.world.rm
    for words, count in ((("--to", "0,16Gi", "--dry-run"), 2), (("--to", "16,16Gi", "--dry-run"), 0)):
        done = served.invoke("colocation", "evict", "kube-1", *words)
        assert f"{count} containers on kube-1 would be stopped in 30 s." in done.stderr, done.output
        assert rm.state.nodes[NODE.id].lent_limit is None
    done = served.invoke("colocation", "evict", "kube-1")
    assert "2 containers on kube-1 will be stopped in 30 s." in done.stderr, done.output
    assert "of the pool" in done.stdout
    last = done.stdout.strip().splitlines()[-1]
    assert last.endswith("it is an ApplicationMaster: last of all")
    assert rm.state.nodes[NODE.id].lent_limit == LentLimit(cpu_milli=0, memory_mib=0)


def test_on_a_node_publishes_where_it_was_left_to_another(served: Served) -> None:
    served.invoke("colocation", "on")
    hear(served)
    refused = served.invoke("colocation", "on", "--node", "kube-1")
    assert (refused.exit_code, "not left to another program" in refused.stderr) == (1, True), refused.output
    assert served.invoke("colocation", "on", "--node", "kube-1", "--preset", "crane").exit_code == 2


def test_an_eviction_is_withdrawn_once(served: Served) -> None:
    served.invoke("colocation", "on")
    hear(served)
    served.invoke("colocation", "evict", "kube-1")
    done = served.invoke("colocation", "evict", "kube-1", "--withdraw")
    assert (done.exit_code, served.world.rm.state.nodes[NODE.id].lent_limit) == (0, None), done.output
    again = served.invoke("colocation", "evict", "kube-1", "--withdraw")
    assert (again.exit_code, "has no eviction in progress" in again.stderr) == (1, True), again.output


def test_evict_is_for_administrators_and_for_amounts(served: Served) -> None:
    served.invoke("colocation", "on")
    hear(served)
    for text in ("2", "two,4Gi", "2,-4Gi"):
        refused = served.invoke("colocation", "evict", "kube-1", "--to", text)
        assert (refused.exit_code, "e.g. 2,4Gi or 500m,512Mi" in refused.stderr) == (2, True), refused.output
    served.user = "alice"
    assert served.invoke("colocation", "evict", "kube-1").exit_code == 1
    assert served.world.rm.state.nodes[NODE.id].lent_limit is None
