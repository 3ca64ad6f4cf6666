"""Measures how long each call about the cluster keeps the loop of a large cluster.

    python -m bench.long_calls [--nodes 5000] [--queues 1000] [--applications 5000] [--wishes 20]

The cluster is that of ``bench.rounds``.  Every route that answers GET and has no name in its path is asked twice; what
is told is the second time: milliseconds until the answer, in one process without sockets, and of the longest turn of
the loop, which is all that others wait for, in processor time.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import time
from collections.abc import Iterator

from starlette.routing import Route

from bench.machine import print_machine
from bench.queue_calls import Cluster
from bench.rounds import ROWS_A_COMMIT, WISHES_MAX, Sizes, asks, putting, running, tree
from bench.turns import Turns
from tests.support.records import an_attempt_id
from tests.support.rest_world import rest_world
from yodel.domain.container import Container
from yodel.rm_api.app import ROUTES
from yodel.rm_api.v1.app import PREFIX, ROUTERS
from yodel.services.writer.outbox import AttemptOutbox

ENDLESS = {"/api/v1/events/stream"}
"""Answers that go on for as long as somebody listens."""


def paths() -> Iterator[str]:
    """Yield the routes of both APIs that can be asked without knowing a name."""
    routes = [route for module in ROUTES for route in module.ROUTES if isinstance(route, Route)]
    named = [(route.path, route.methods or ()) for route in routes]
    named += [(f"{PREFIX}{route.path}", route.methods) for router in ROUTERS for route in router.routes]
    told = {path for path, methods in named if "GET" in methods and "{" not in path}
    yield from sorted(told - ENDLESS)


async def measure(sizes: Sizes) -> None:
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
        gc.collect()
        gc.freeze()
        await Cluster(world, sizes, live).work()
        for path in paths():
            await world.client.get(path)
            await asyncio.sleep(0)
            turns.longest_s()
            began_s = time.perf_counter()
            answer = await world.client.get(path)
            took_s = time.perf_counter() - began_s
            print(
                f"{path:<44} {answer.status_code} {len(answer.content):>10} bytes {took_s * 1e3:8.1f} ms "
                f"(turn {turns.longest_s() * 1e3:5.1f})",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.long_calls", description=__doc__)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--queues", type=int, default=1000)
    parser.add_argument("--applications", type=int, default=5000)
    parser.add_argument("--wishes", type=int, default=20, help="keys of an application")
    asked = parser.parse_args()
    asyncio.run(measure(Sizes(asked.nodes, asked.queues, asked.applications, asked.wishes)))


if __name__ == "__main__":
    print_machine()
    main()
