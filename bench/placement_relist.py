"""A relisting of many pods in a running ResourceManager: how long, how long at a time, and what memory it takes.

    python -m bench.placement_relist serve --config rm.toml     # a ResourceManager that measures itself

The ResourceManager is the real one; around its HTTP client is a layer that answers its watch of the pods with "410
Gone" at SIGUSR1, as an API server does that has forgotten the version, and notes when the pages of the list that
follows come.  Meanwhile a task measures each turn of the event loop: by its own processor time, and by the clock, which
counts what else the machine does.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import resource
import signal
import statistics
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from bench.placement_cluster import FakeCluster
from bench.placement_figures import MILLI, table_row
from bench.placement_yodel import MODES, NAMESPACE, resource_manager, start_master
from yodel.cli import main as yodel_main
from yodel.kube.api import ApiRequest
from yodel.kube.client import KubeClient

ROUNDS = 5
QUIET_S = 1.0
TIMEOUT_S = 120.0
REPORT = "YODEL_BENCH_REPORT"
GONE = b'{"type":"ERROR","object":{"kind":"Status","status":"Failure","reason":"Expired","code":410,"message":"x"}}\n'
MIB = 1 << 20
LIST_METADATA_BYTES = 2000
"""The head of a page, before its pods: reading all of it would be measured too."""


@dataclass(slots=True)
class Turns:
    """The longest turn of the event loop, seconds."""

    processor_s: float = 0.0
    clock_s: float = 0.0

    async def follow(self) -> None:
        while True:
            processor_s, clock_s = time.thread_time(), time.perf_counter()
            await asyncio.sleep(0)
            self.processor_s = max(self.processor_s, time.thread_time() - processor_s)
            self.clock_s = max(self.clock_s, time.perf_counter() - clock_s)


class MeasuredClient(KubeClient):
    """Forgets, at SIGUSR1, the version that the watch of the pods has reached."""

    @contextlib.asynccontextmanager
    async def stream(self, request: ApiRequest) -> AsyncIterator[AsyncIterator[bytes]]:
        if not request.path.endswith(f"/{NAMESPACE}/pods"):
            async with super().stream(request) as chunks:
                yield chunks
            return
        gone = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, lambda: self._begin(gone))
        async with super().stream(request) as chunks:
            yield _until_gone(chunks, gone)

    def _begin(self, gone: asyncio.Event) -> None:
        self._turns = Turns()
        self._following = asyncio.create_task(self._turns.follow())
        gone.set()

    async def call(self, request: ApiRequest) -> bytes:
        is_page = request.path.endswith(f"/{NAMESPACE}/pods") and "limit" in request.query
        if is_page and "continue" not in request.query:
            self._begun_s = time.perf_counter()  # the pause after a failure is over
        body = await super().call(request)
        if is_page and hasattr(self, "_following") and b'"continue":' not in body[:LIST_METADATA_BYTES]:
            asyncio.get_running_loop().call_later(QUIET_S, self._report, time.perf_counter())
        return body

    def _report(self, listed_s: float) -> None:
        """Once the work that the list brought has been done."""
        self._following.cancel()
        usage = resource.getrusage(resource.RUSAGE_SELF)
        figures = {
            "list_s": listed_s - self._begun_s,
            "turn_processor_s": self._turns.processor_s,
            "turn_clock_s": self._turns.clock_s,
            "rss_peak_mib": usage.ru_maxrss / 1024,
        }
        with Path(os.environ[REPORT]).open("a") as report:
            report.write(json.dumps(figures) + "\n")


async def _until_gone(chunks: AsyncIterator[bytes], gone: asyncio.Event) -> AsyncIterator[bytes]:
    while not gone.is_set():
        next_chunk = asyncio.ensure_future(anext(chunks))
        waiting = asyncio.ensure_future(gone.wait())
        try:
            await asyncio.wait([next_chunk, waiting], return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
            if not next_chunk.done():
                next_chunk.cancel()
                await asyncio.wait([next_chunk])  # or the stream could not be closed
        if not gone.is_set():
            try:
                yield await next_chunk
            except StopAsyncIteration:
                return
    yield GONE


async def measure_relist(fake: FakeCluster, pods: int, log: Path | None) -> list[str]:
    """Rows of the table."""
    report = fake.home.path / "relist.jsonl"
    report.touch()
    os.environ[REPORT] = str(report)
    mode = next(mode for mode in MODES if mode.name == "extended")
    async with resource_manager(fake, mode, ("-m", "bench.placement_relist"), log) as rm:
        process = psutil.Process(rm.pid)
        idle_mib = _rss_mib(process)
        master = await start_master(rm)
        await master.ask(pods)
        await master.until_granted(pods)
        await asyncio.sleep(5 * QUIET_S)
        before_mib = _rss_mib(process)
        for number in range(1, ROUNDS + 1):
            process.send_signal(signal.SIGUSR1)
            async with asyncio.timeout(TIMEOUT_S):
                while len(report.read_text().splitlines()) < number:  # noqa: ASYNC110 - another process writes
                    await asyncio.sleep(0.1)
            await asyncio.sleep(2 * QUIET_S)
        after_mib = _rss_mib(process)
    rounds = [json.loads(line) for line in report.read_text().splitlines()]
    return rows(pods, rounds, (idle_mib, before_mib, after_mib))


def rows(pods: int, rounds: list[dict[str, Any]], rss_mib: tuple[float, float, float]) -> list[str]:
    """``rss_mib``: idle, with the pods, after the rounds."""

    def all_of(name: str) -> list[float]:
        return [float(one[name]) for one in rounds]

    idle, before, after = rss_mib
    turns, clock = all_of("turn_processor_s"), all_of("turn_clock_s")
    return [
        table_row([f"list of {pods:,} pods", f"median {statistics.median(all_of('list_s')):.2f} s of {len(rounds)}"]),
        table_row(["longest turn, processor time", f"{max(turns) * MILLI:.0f} ms"]),
        table_row(
            ["longest turn, by the clock", f"{statistics.median(clock) * MILLI:.0f} to {max(clock) * MILLI:.0f} ms"]
        ),
        table_row(["resident memory idle, with pods, after", f"{idle:.0f}, {before:.0f}, {after:.0f} MiB"]),
        table_row(["resident memory at most", f"{max(all_of('rss_peak_mib')):.0f} MiB"]),
    ]


def _rss_mib(process: psutil.Process) -> float:
    return float(process.memory_info().rss) / MIB


def main() -> None:
    """The ResourceManager with the layer around its client."""
    import yodel.kube.client as module

    module.KubeClient = MeasuredClient  # type: ignore[misc]
    yodel_main()


if __name__ == "__main__":
    main()
