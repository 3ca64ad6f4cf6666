"""Measures calls about queues while the scheduler works: reading them, and changing one.

    python -m bench.queue_calls [--nodes 5000] [--queues 1000] [--applications 5000] [--wishes 20] [--changes 100]

The cluster is that of ``bench.rounds``, whose queues hold what they may.  Ten containers end and a round is held
between any two calls.  ``first`` follows a change, ``unchanged`` follows itself.  Changes are of one queue's
user-limit-factor, over ``/api/v1/queues`` with If-Match.  Seconds are of the clock, in one process without sockets,
from the call to its answer; a turn is what the loop runs without looking at anything else, in processor time.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from dataclasses import replace

from bench.machine import print_machine
from bench.rounds import (
    CHANGES,
    IN_FLIGHT_MAX,
    ROWS_A_COMMIT,
    WISHES_MAX,
    Sizes,
    asks,
    putting,
    running,
    tree,
)
from bench.turns import Turns
from tests.support.records import an_attempt_id
from tests.support.rest_world import RestWorld, rest_world
from yodel.domain.container import Container
from yodel.domain.states import ContainerState
from yodel.services.writer.outbox import AttemptOutbox
from yodel.telemetry import garbage

CLUSTER = "/ws/v1/cluster"
LOOKS = (f"{CLUSTER}/scheduler", f"{CLUSTER}/scheduler-conf", "/api/v1/queues")
UNCHANGED = 10


class Cluster:
    """A full one, in which containers end and rounds are held."""

    def __init__(self, world: RestWorld, sizes: Sizes, live: list[Container]) -> None:
        self.world, self.sizes = world, sizes
        self._live = live

    async def work(self) -> None:
        """Ten containers end; what waits is looked at."""
        rm = self.world.rm
        ended = [self._live.pop((len(self._live) * 7919) % len(self._live)) for _ in range(CHANGES)]
        rows = [replace(rm.state.containers[row.id], state=ContainerState.COMPLETED, finished_ms=5) for row in ended]
        await rm.engine.do(putting(rows))
        while await rm.scheduler.tick():
            pass
        garbage.look()  # a ResourceManager does so in a task of its own
        await asyncio.sleep(0)  # what comes next is a turn of its own

    async def timed(self, path: str, version: int | None = None, factor: float = 1.0) -> float:
        """Seconds until the answer; a change when there is a version."""
        began_s = time.perf_counter()
        if version is None:
            answer = await self.world.client.get(path, headers={"Accept-Encoding": "identity"})
        else:
            answer = await self.world.client.patch(
                path,
                params={"user.name": "admin"},
                headers={"If-Match": f'"{version}"'},
                json={"properties": {"user-limit-factor": str(factor)}, "reason": "a bench"},
            )
        took_s = time.perf_counter() - began_s
        assert answer.status_code == 200, answer.text[:1000]
        return took_s


async def measure(sizes: Sizes, changes: int) -> None:
    turns = Turns()
    turns.install()
    queues = tree(sizes, "limit")
    leaves = [queue.path for queue in queues if queue.is_leaf and queue.path != "root.default"]
    async with rest_world(queues=queues) as world:
        rm = world.rm
        live: list[Container] = []
        for rows in running(sizes, leaves):
            live = [row for row in rows if isinstance(row, Container)]
            for start in range(0, len(rows), ROWS_A_COMMIT):
                await rm.engine.do(putting(rows[start : start + ROWS_A_COMMIT]))
        for number in range(1, sizes.applications + 1):
            rm.state.masters.expect(an_attempt_id(number), 0.0, AttemptOutbox()).wishes.take(asks(sizes), WISHES_MAX)
        rm.scheduler.use_limits(replace(rm.scheduler.limits, in_flight_max=IN_FLIGHT_MAX))
        rm.scheduler.holder.rules = replace(rm.scheduler.holder.rules, part=0.0)  # as in bench.rounds, none is reserved
        garbage.take_over()
        cluster = Cluster(world, sizes, live)
        await cluster.work()
        for path in LOOKS:
            turns.longest_s()
            first_s = await cluster.timed(path)
            longest_s = turns.longest_s()
            again_s = [await cluster.timed(path) for _ in range(UNCHANGED)]
            await cluster.work()
            turns.longest_s()
            after_s = await cluster.timed(path)
            print(
                f"{path:<28} first {first_s * 1e3:7.1f} ms (turn {longest_s * 1e3:5.1f})  "
                f"unchanged {statistics.median(again_s) * 1e3:6.1f} ms  "
                f"after a round {after_s * 1e3:7.1f} ms (turn {turns.longest_s() * 1e3:5.1f})",
                flush=True,
            )
        took_s, turns_s = [], []
        for number in range(changes):
            await cluster.work()
            turns.longest_s()
            path = f"/api/v1/queues/{leaves[number * 31 % len(leaves)]}"
            took_s.append(await cluster.timed(path, rm.scheduler_conf.version, 2.0 + number / 100))
            turns_s.append(turns.longest_s())
        took_s.sort()
        turns_s.sort()
        print(
            f"change of a queue            median {statistics.median(took_s) * 1e3:7.1f} ms  "
            f"p99 {took_s[len(took_s) * 99 // 100 - 1] * 1e3:7.1f} ms  longest {took_s[-1] * 1e3:7.1f} ms  "
            f"turns: median {statistics.median(turns_s) * 1e3:5.1f} ms  longest {turns_s[-1] * 1e3:5.1f} ms",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.queue_calls", description=__doc__)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--queues", type=int, default=1000)
    parser.add_argument("--applications", type=int, default=5000)
    parser.add_argument("--wishes", type=int, default=20, help="keys of an application")
    parser.add_argument("--changes", type=int, default=100)
    asked = parser.parse_args()
    asyncio.run(measure(Sizes(asked.nodes, asked.queues, asked.applications, asked.wishes), asked.changes))


if __name__ == "__main__":
    print_machine()
    main()
