"""Queries a service over HTTP in an open loop: a request is sent when it is due, whatever became of the others.

Its latency counts from when it was due, so that a service that stands still is not asked less.  Answers are read and
dropped.  Nothing else of the service is touched: requests are GETs of one URL, without redirects or tokens.
"""

from __future__ import annotations

import asyncio
import math
import random
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx2

from yodel.errors import InvalidValue

RATE_MAX = 500
"""Requests a second of one client process, which has to be in time itself."""
TIMEOUT_S = 10.0
CONNECTIONS_MAX = 200
UNANSWERED_MAX = 2_000
"""Requests that wait for their answers; what is due beyond that counts as failed."""
ANSWER_BYTES_MAX = 16 << 20
LATE_S = 0.005
"""A request that is sent so much later than it was due is this client's own delay."""


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the value below which so many percent of the values lie; at least one value."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def interval(values: Sequence[float], percent: float) -> tuple[float, float]:
    """Return the 95 % interval of a percentile: the ranks that it has in 95 of 100 samples of this size."""
    ordered, size, part = sorted(values), len(values), percent / 100
    away = 1.96 * math.sqrt(size * part * (1 - part))
    low, high = (min(size - 1, max(0, int(size * part + one))) for one in (-away, away))
    return ordered[low], ordered[high]


def checked_url(text: str) -> str:
    """Return the URL of a service.  Raises InvalidValue: it is none of http or https, or names a user."""
    try:
        parts = urlsplit(text)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable or parts.username is not None or not text.isprintable():
        raise InvalidValue("--service", text[:200], "a URL of http or https without a user's name")
    return text


@dataclass(slots=True, kw_only=True)
class Answers:
    """Latencies in milliseconds, failed requests included; ``late``: requests that this client sent too late."""

    latencies_ms: array[float] = field(default_factory=lambda: array("d"))
    failed: int = 0
    late: int = 0


class ServiceLoad:
    """One service.  ``transport`` is for tests."""

    def __init__(self, url: str, transport: httpx2.AsyncBaseTransport | None = None) -> None:
        """Raises InvalidValue: the URL is not usable."""
        self.url = checked_url(url)
        limits = httpx2.Limits(max_connections=CONNECTIONS_MAX, max_keepalive_connections=CONNECTIONS_MAX)
        self._http = httpx2.AsyncClient(timeout=TIMEOUT_S, transport=transport, limits=limits, trust_env=False)

    async def __aenter__(self) -> ServiceLoad:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._http.aclose()

    async def check(self) -> None:
        """Ask once.  Raises InvalidValue: it does not answer, or not with success."""
        if (problem := await self._problem()) is not None:
            raise InvalidValue("--service", self.url[:200], f"a service that answers with HTTP 2xx ({problem})")

    async def ask(self, rate: float, seconds: float, seed: int = 1) -> Answers:
        """Send requests at random moments (a Poisson process), ``rate`` a second, and wait for their answers."""
        loop, draw, answers = asyncio.get_running_loop(), random.Random(seed), Answers()
        began_s, due_s = loop.time(), draw.expovariate(rate)
        unanswered: set[asyncio.Task[None]] = set()
        async with asyncio.TaskGroup() as group:
            while due_s < seconds:
                await asyncio.sleep(max(0.0, began_s + due_s - loop.time()))
                if len(unanswered) < UNANSWERED_MAX:
                    task = group.create_task(self._one(began_s + due_s, answers), name="request")
                    unanswered.add(task)
                    task.add_done_callback(unanswered.discard)
                else:
                    answers.failed += 1
                    answers.latencies_ms.append(TIMEOUT_S * 1000)
                due_s += draw.expovariate(rate)
        return answers

    async def _one(self, due_s: float, answers: Answers) -> None:
        loop = asyncio.get_running_loop()
        answers.late += loop.time() - due_s > LATE_S
        problem = await self._problem()
        answers.failed += problem is not None
        answers.latencies_ms.append((loop.time() - due_s) * 1000)

    async def _problem(self) -> str | None:
        """Return why a request was not answered with success; None: it was."""
        try:
            async with asyncio.timeout(TIMEOUT_S), self._http.stream("GET", self.url) as answer:
                left = ANSWER_BYTES_MAX
                async for part in answer.aiter_raw():
                    left -= len(part)
                    if left < 0:
                        return f"more than {ANSWER_BYTES_MAX >> 20} MiB"
                return None if answer.is_success else f"HTTP {answer.status_code}"
        except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError) as error:
            return str(error) or type(error).__name__
