"""Processor time of the scheduler's rounds: the first look at everything, and rounds after ten changes.

    python -m bench.rounds [--nodes 5000] [--queues 1000] [--applications 5000] [--wishes 20] [--rounds 20] [--profile]

Leaf queues lie on two levels below the root, with applications in turn, each of which asks at as many priorities as
``--wishes`` says, for five containers each.  The cluster is full.  ``limit``: the queues hold what they may; ``room``:
they may hold all.  Between two rounds ten containers end and five applications ask anew.  Measured is the thread's
processor time of whole ticks, with what they plan written to a store in memory, and of the longest turn of the loop,
which is all that others wait for.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import pstats
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from bench.machine import print_machine
from bench.turns import Turns
from tests.support.playbook import World
from tests.support.records import a_container, a_node, a_submission, an_application, an_attempt, an_attempt_id
from tests.support.rm_options import Options
from yodel.domain.application import Application
from yodel.domain.ask_book import Ask, AskKey
from yodel.domain.attempt import Attempt
from yodel.domain.container import Container
from yodel.domain.node import Node
from yodel.domain.queues.queue import Queue
from yodel.domain.resource import Resource
from yodel.domain.states import ApplicationState, AttemptState, ContainerState, ExecutionType, NodeState
from yodel.services.writer.outbox import AttemptOutbox
from yodel.services.writer.transaction import Transaction
from yodel.telemetry import garbage

SIZE = Resource(1024, 1)
CONTAINERS_A_NODE = 20
QUEUES_A_PARENT = 32
APPLICATIONS_A_USER = 1000
COUNT_OF_A_WISH = 5
BEFORE = 1_000_000
"""The number of an application's first container: the scheduler counts its own from 2."""
WISHES_MAX = 10**6
CHANGES = 10
ROWS_A_COMMIT = 5000
IN_FLIGHT_MAX = 10**6
SLOWEST_FUNCTIONS = 15
KINDS = ("limit", "room")
OneRow = Application | Attempt | Container | Node


@dataclass(frozen=True, slots=True)
class Sizes:
    nodes: int
    queues: int
    applications: int
    wishes: int


def tree(sizes: Sizes, kind: str) -> tuple[Queue, ...]:
    """``limit``: no queue may hold more than its guarantee, which all leaves do."""
    parents = -(-sizes.queues // QUEUES_A_PARENT)
    found = [Queue(path="root", is_leaf=False), Queue(path="root.default", capacity_percent=0.0)]
    for parent in range(parents):
        path = f"root.p{parent}"
        below = min(QUEUES_A_PARENT, sizes.queues - parent * QUEUES_A_PARENT)
        percent = 100.0 * below / sizes.queues
        most = percent if kind == "limit" else 100.0
        found.append(Queue(path=path, is_leaf=False, capacity_percent=percent, maximum_capacity_percent=most))
        percent = 100.0 / below
        maximum, factor = (percent, 2.0) if kind == "limit" else (100.0, float(sizes.queues))
        found += [
            Queue(
                path=f"{path}.q{number}",
                capacity_percent=percent,
                maximum_capacity_percent=maximum,
                user_limit_factor=factor,
            )
            for number in range(below)
        ]
    return tuple(found)


def asks(sizes: Sizes, more: int = 0) -> list[Ask]:
    """One wish a priority."""
    return [
        Ask(key=AskKey(priority, -1, ExecutionType.GUARANTEED, SIZE), resource_name="*", count=COUNT_OF_A_WISH + more)
        for priority in range(sizes.wishes)
    ]


def running(sizes: Sizes, leaves: Sequence[str]) -> Iterator[Sequence[OneRow]]:
    """Nodes, applications, attempts, and the containers that fill the nodes, kind by kind."""
    size = SIZE * CONTAINERS_A_NODE
    nodes = [
        a_node(f"n{n}", state=NodeState.RUNNING, capability=size, kubernetes_node_name=f"n{n}")
        for n in range(sizes.nodes)
    ]
    yield nodes
    numbers = range(1, sizes.applications + 1)
    queues = {number: leaves[number % len(leaves)] for number in numbers}
    yield [
        an_application(
            number,
            submission=a_submission(queue=queues[number], user=f"user{number // APPLICATIONS_A_USER}"),
            state=ApplicationState.RUNNING,
            current_attempt=1,
        )
        for number in numbers
    ]
    yield [an_attempt(number, state=AttemptState.RUNNING, host="host") for number in numbers]
    yield list(_containers(sizes, nodes, queues, leaves))


def _containers(
    sizes: Sizes, nodes: Sequence[Node], queues: dict[int, str], leaves: Sequence[str]
) -> Iterator[Container]:
    each = sizes.nodes * CONTAINERS_A_NODE // sizes.applications
    for place in range(sizes.applications * each):
        number, nth = 1 + place // each, place % each
        yield a_container(
            number,
            1,
            BEFORE + nth,
            state=ContainerState.RUNNING,
            node_id=nodes[place // CONTAINERS_A_NODE].id,
            queue=queues[number],
            capability=SIZE,
        )


def putting(rows: Sequence[OneRow]) -> Callable[[Transaction], None]:
    def work(tx: Transaction) -> None:
        for row in rows:
            tx.put(row)

    return work


async def ticks(world: World) -> list[float]:
    """Seconds of the thread of each, until there is no more to decide."""
    took_s = []
    while True:
        began_s = time.thread_time()
        more = await world.run(world.rm.scheduler.tick())
        took_s.append(time.thread_time() - began_s)
        if not more:
            return took_s


async def measure(sizes: Sizes, kind: str, rounds: int, profile: cProfile.Profile | None) -> None:
    turns = Turns()
    turns.install()
    queues = tree(sizes, kind)
    leaves = [queue.path for queue in queues if queue.is_leaf and queue.path != "root.default"]
    async with World(Options(queues=queues)) as world:
        rm = world.rm
        live: list[Container] = []
        for rows in running(sizes, leaves):
            live = [row for row in rows if isinstance(row, Container)]
            for start in range(0, len(rows), ROWS_A_COMMIT):
                await world.run(rm.engine.do(putting(rows[start : start + ROWS_A_COMMIT])))
        masters = rm.state.masters
        for number in range(1, sizes.applications + 1):
            masters.expect(an_attempt_id(number), 0.0, AttemptOutbox()).wishes.take(asks(sizes), WISHES_MAX)
        rm.scheduler.use_limits(replace(rm.scheduler.limits, in_flight_max=IN_FLIGHT_MAX))
        garbage.take_over()
        await asyncio.sleep(0)  # what was made so far was in this turn
        turns.longest_s()
        first_s = await ticks(world)
        print(
            f"{kind:<6} first look    {len(first_s):4} rounds  {sum(first_s):6.2f} s in all  "
            f"longest {max(first_s) * 1e3:6.1f} ms  turn {turns.longest_s() * 1e3:6.1f} ms",
            flush=True,
        )
        after_s, turns_s = [], []
        for place in range(rounds):
            for change in range(CHANGES):
                ended = live.pop((place * 7919 + change * 104729) % len(live))
                row = replace(rm.state.containers[ended.id], state=ContainerState.COMPLETED, finished_ms=5)
                await world.run(rm.engine.do(putting([row])))
                if change % 2:
                    number = 1 + (place * 13 + change * 501) % sizes.applications
                    masters.runtimes[an_attempt_id(number)].wishes.take(asks(sizes, 1 + place), WISHES_MAX)
            garbage.look()
            await asyncio.sleep(0)  # a ResourceManager does so in a task of its own
            if profile is not None:
                profile.enable()
            turns.longest_s()
            after_s.append(max(await ticks(world)))
            turns_s.append(turns.longest_s())
            if profile is not None:
                profile.disable()
        print(
            f"{kind:<6} {CHANGES} changes    {rounds:4} rounds  median {statistics.median(after_s) * 1e3:6.1f} ms  "
            f"longest {max(after_s) * 1e3:6.1f} ms  turn {max(turns_s) * 1e3:6.1f} ms",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.rounds", description=__doc__)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--queues", type=int, default=1000)
    parser.add_argument("--applications", type=int, default=5000)
    parser.add_argument("--wishes", type=int, default=20, help="keys of an application")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--profile", action="store_true", help="say where the time of the later rounds went")
    asked = parser.parse_args()
    sizes = Sizes(asked.nodes, asked.queues, asked.applications, asked.wishes)
    for kind in KINDS:
        profile = cProfile.Profile() if asked.profile else None
        asyncio.run(measure(sizes, kind, asked.rounds, profile))
        if profile is not None:
            pstats.Stats(profile).sort_stats("tottime").print_stats(SLOWEST_FUNCTIONS)


if __name__ == "__main__":
    print_machine()
    main()
