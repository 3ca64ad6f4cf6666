"""Compares a service's latency with and without batch on lent capacity, on the cluster as it is.

Conditions are switched by the properties of colocation, and restored in the end: nothing but those is changed, and the
service only gets requests.  Each round has another order, because a cluster's load changes while it is measured.
"""

from __future__ import annotations

import asyncio
import contextlib
import statistics
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from yodel.client.service_load import Answers, ServiceLoad, percentile
from yodel.errors import InvalidValue

if TYPE_CHECKING:
    from yodel.client.api import JsonObject, RmClient

PREFIX = "yodel.colocation."
ALONE, LENT, BOUNDED = "A", "C", "D"
CONDITIONS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    ALONE: ("no batch on lent capacity", {"enabled": "false"}),
    LENT: ("batch on lent capacity, no limits", {"enabled": "true", "limits": "false", "quota": "false"}),
    BOUNDED: ("batch with limits and quota", {"enabled": "true", "limits": "true", "quota": "true"}),
}
"""Names as in docs/colocation.md; with what is set for each."""
ROUNDS = 3
SETTLE_S = 20.0
"""After a change: agents report every few seconds, and preempted containers take a moment to end."""
BATCH_WAIT_S = 120.0
WINDOW_LEAST_S = 10.0
LOOK_S = 2.0
NODES_MAX = 500
P99_MOST = 1.25
HEADS = (
    "ROUND",
    "CONDITION",
    "P50 MS",
    "P99 MS",
    "P99.9 MS",
    "P99 / A",
    "FAILED",
    "NODE CPU",
    "BATCH VCORES",
    "PRESSURE",
)
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One condition in one round.  ``node_cpu`` is the mean part of the lending nodes' processors in use, ``vcores``
    the mean that the queue used, ``pressure`` the mean percent in which online pods waited for a processor; None: the
    nodes do not report it.  ``problems`` says why it proves nothing."""

    round: int
    condition: str
    p50_ms: float
    p99_ms: float
    p999_ms: float
    failed: int
    requests: int
    node_cpu: float | None
    vcores: float
    pressure: float | None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Defines a measurement: requests a second, minutes in all, the queue of the batch.  ``stops_containers``: the
    condition without batch may stop the containers that run on lent capacity."""

    queue: str
    rate: float
    minutes: float
    stops_containers: bool = False
    rounds: int = ROUNDS

    @property
    def conditions(self) -> tuple[str, ...]:
        return tuple(name for name in CONDITIONS if name != ALONE or self.stops_containers)

    @property
    def window_s(self) -> float:
        """Return the seconds of one window, between the times in which the cluster settles."""
        return self.minutes * 60 / (self.rounds * len(self.conditions)) - SETTLE_S

    def check(self) -> None:
        """Raises InvalidValue: the minutes are too few for WINDOW_LEAST_S each."""
        if self.window_s < WINDOW_LEAST_S:
            need = -(-(SETTLE_S + WINDOW_LEAST_S) * self.rounds * len(self.conditions) // 60)
            raise InvalidValue("--minutes", f"{self.minutes:g}", f"at least {need:.0f}, for {self.rounds} rounds")

    def order(self, number: int) -> tuple[str, ...]:
        names, turn = self.conditions, number % len(self.conditions)
        return (*names[turn:], *names[:turn])


async def measure(client: RmClient, load: ServiceLoad, wanted: Wanted, say: Say) -> list[Measured]:
    """Measure all rounds and restore the properties of colocation, also when it is interrupted.

    Raises:
        InvalidValue: the service does not answer, or the time is too short.
        ApiRefused: there is no such queue, or the caller is no administrator.
        Unavailable: no ResourceManager answers.
    """
    wanted.check()
    await load.check()
    await client.get(_queue_path(wanted.queue))
    found: list[Measured] = []
    async with _restored(client, say) as switch:
        for number in range(wanted.rounds):
            for name in wanted.order(number):
                await switch(name)
                problems = await _settled(client, name, wanted)
                one = await _window(client, load, wanted, number, name)
                found.append(replace(one, problems=(*problems, *one.problems)))
                left_s = (wanted.rounds * len(wanted.conditions) - len(found)) * (wanted.window_s + SETTLE_S)
                say(f"round {number + 1} {name}: P99 {one.p99_ms:.1f} ms; about {left_s / 60:.0f} min left")
    return found


@contextlib.asynccontextmanager
async def _restored(client: RmClient, say: Say) -> AsyncIterator[Callable[[str], Any]]:
    """Give a function that sets a condition's properties; afterwards they are as before."""
    configuration = await client.get("/queue-configuration")
    names = sorted({PREFIX + name for _, properties in CONDITIONS.values() for name in properties})
    before = {name: configuration["properties"].get(name) for name in names}
    say(f"If this is killed: yodel queue revert {configuration['version']}")

    async def switch(condition: str) -> None:
        await _set(client, {PREFIX + name: value for name, value in CONDITIONS[condition][1].items()}, condition)
        if condition == ALONE:
            await client.post("/colocation/end-containers", {})

    try:
        yield switch
    finally:
        await asyncio.shield(_set(client, before, "restored"))


async def _set(client: RmClient, properties: Mapping[str, str | None], why: str) -> None:
    from yodel.client import queue_edits

    body = {"scheduler": dict(properties), "reason": f"yodel colocation measure: {why}"}
    await queue_edits.change(client, "PATCH", "/queues", body, since=None, is_dry_run=False)


async def _settled(client: RmClient, name: str, wanted: Wanted) -> list[str]:
    """Wait until the queue's batch runs or is gone; return what is not as the condition says."""
    await asyncio.sleep(SETTLE_S)
    left_s = BATCH_WAIT_S
    while (await _vcores(client, wanted.queue) > 0) == (name == ALONE):
        if left_s <= 0:
            return [f"containers of {wanted.queue} still ran" if name == ALONE else f"no batch ran in {wanted.queue}"]
        await asyncio.sleep(min(LOOK_S, left_s))
        left_s -= LOOK_S
    return []


async def _window(client: RmClient, load: ServiceLoad, wanted: Wanted, number: int, name: str) -> Measured:
    looks = _Looks(client, wanted.queue)
    asking = asyncio.ensure_future(load.ask(wanted.rate, wanted.window_s, seed=number + 1))
    try:
        while not asking.done():
            await looks.look()
            await asyncio.wait({asking}, timeout=LOOK_S)
        answers = asking.result()
    finally:
        asking.cancel()
    return _measured(number, name, answers, looks)


@dataclass(slots=True)
class _Looks:
    """Keeps what the ResourceManager shows while the service is asked."""

    client: RmClient
    queue: str
    vcores: list[float] = field(default_factory=list)
    node_cpu: list[float] = field(default_factory=list)
    pressure: list[float] = field(default_factory=list)

    async def look(self) -> None:
        self.vcores.append(await _vcores(self.client, self.queue))
        nodes = await self.client.items("/colocation/nodes", {}, NODES_MAX)
        self.node_cpu += [part for node in nodes if (part := cpu_in_use(node)) is not None]
        self.pressure += [node["pressure"]["some_percent"] for node in nodes if node["pressure"] is not None]


def cpu_in_use(node: JsonObject) -> float | None:
    """Return the part of a node's processors in use, by its agent's report."""
    for one in node["resources"]:
        amounts = {figure["name"]: figure["amount"] for figure in one["measured"]}
        if one["resource"] == "cpu_milli" and amounts.get("capacity"):
            return float(amounts["node"] / amounts["capacity"])
    return None


def _measured(number: int, name: str, answers: Answers, looks: _Looks) -> Measured:
    latencies, late = answers.latencies_ms, answers.late
    problems = []
    if late > len(latencies) / 100:
        problems.append(f"this client sent {late} of {len(latencies)} requests late: use a lower --rate")
    p50, p99, p999 = (percentile(latencies or [0.0], percent) for percent in (50, 99, 99.9))
    return Measured(
        round=number,
        condition=name,
        p50_ms=p50,
        p99_ms=p99,
        p999_ms=p999,
        failed=answers.failed,
        requests=len(latencies),
        node_cpu=statistics.mean(looks.node_cpu) if looks.node_cpu else None,
        vcores=statistics.mean(looks.vcores),
        pressure=statistics.mean(looks.pressure) if looks.pressure else None,
        problems=tuple(problems),
    )


async def _vcores(client: RmClient, queue: str) -> float:
    return float((await client.get(_queue_path(queue)))["used"]["vcores"])


def _queue_path(queue: str) -> str:
    return f"/queues/{quote(queue, safe='')}"


def rows(found: Sequence[Measured]) -> list[list[str]]:
    """Return the table under HEADS."""
    alone = {one.round: one for one in found if one.condition == ALONE}
    return [
        [
            str(one.round + 1),
            f"{one.condition}: {CONDITIONS[one.condition][0]}",
            *(f"{value:.1f}" for value in (one.p50_ms, one.p99_ms, one.p999_ms)),
            "-" if one.round not in alone or one.condition == ALONE else f"{one.p99_ms / alone[one.round].p99_ms:.2f}",
            f"{one.failed} of {one.requests}",
            "-" if one.node_cpu is None else f"{one.node_cpu:.0%}",
            f"{one.vcores:.1f}",
            "-" if one.pressure is None else f"{one.pressure:.1f} %",
        ]
        for one in found
    ]


def verdicts(found: Sequence[Measured]) -> list[str]:
    """Return a line for each condition next to batch, and the reasons why windows prove nothing."""
    lines = [f"VOID, round {one.round + 1} {one.condition}: {text}." for one in found for text in one.problems]
    void = {(one.round, one.condition) for one in found if one.problems}
    by_place = {(one.round, one.condition): one for one in found}
    for name in (LENT, BOUNDED):
        pairs = [
            (one, by_place[one.round, ALONE])
            for one in found
            if one.condition == name and (one.round, ALONE) in by_place
            if not void & {(one.round, name), (one.round, ALONE)}
        ]
        if not pairs:
            lines.append(f"{name}: no verdict, because no round of it and of A counts.")
            continue
        ratios = sorted(one.p99_ms / alone.p99_ms for one, alone in pairs)
        word = "holds" if ratios[-1] <= P99_MOST else "does not hold"
        lines.append(
            f"{name}: P99 is {ratios[0]:.2f} to {ratios[-1]:.2f} times that of A in {len(ratios)} rounds; "
            f"at most {P99_MOST:g}: {word}."
        )
    return lines
