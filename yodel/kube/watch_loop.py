"""List-watch of one kind of object: the list is the truth, the watch a hint between two lists.

One endless loop: list page by page, hand the whole to the sink, then follow the watch from the list's resource version.
Bookmarks move that version on, so a reconnect is cheap.  A new list is made when the version is too old (410) or when
something arrived that cannot be understood; deletions that happened meanwhile are the sink's to compute from it.  The
loop never gives up and never raises for what the API server does: it waits (exponential, jittered, ``Retry-After``
respected) and goes on, and ``WatchHealth`` tells how stale the picture is.  What a sink raises is a bug and ends it.

It refuses to do work: sinks only record.  Follows client-go's Reflector, plus a stall timeout: a connection on which
neither event nor bookmark arrives (bookmarks come about every minute) is taken for dead.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, NoReturn, TypeVar

import msgspec
import structlog

from yodel.domain.backoff import Backoff, Random
from yodel.errors import Unavailable
from yodel.kube.api import ApiRequest, ApiStatus, KubeApi, status_of_event
from yodel.kube.decode import ListPage, decode_event, decode_pod, decode_pod_page, decode_version
from yodel.kube.limiter import Clock
from yodel.kube.pod_driver import pods_path
from yodel.ports.kube_nodes import NodeObservation
from yodel.ports.pods import PodHolding, PodObservation, PodSink

LINE_BYTES_MAX = 8 * 1024 * 1024  # etcd takes objects up to 1.5 MiB by default; JSON is larger than protobuf
PAGES_MAX = 1_000  # half a million objects: beyond it something is wrong with the selector

_log = structlog.get_logger(__name__)
_Observed = TypeVar("_Observed", PodObservation, NodeObservation, PodHolding)


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchLimits:
    """``page_size`` bounds how long decoding holds the event loop (about 20 µs a pod); a connection is replaced after
    ``connection_s`` to twice that, as client-go does, and called dead after ``stall_s`` without event or bookmark.

    ``backoff`` has a low cap: an API server that is back is heard of at most 5 s later, and a try in that time of each
    of a few watches is no load for it.  One that is overloaded says so, with ``Retry-After``.
    """

    page_size: int = 500
    list_timeout_s: float = 30.0
    open_timeout_s: float = 15.0
    stall_s: float = 90.0
    connection_s: float = 300.0
    backoff: Backoff = field(default_factory=lambda: Backoff(initial_s=0.5, cap_s=5.0))


class WatchHealth:
    """Shows how well a watch is doing; read it from anywhere in the event loop's thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._heard_at_s = float("-inf")
        self.listings = 0
        self.connections = 0
        self.failures_in_a_row = 0

    @property
    def staleness_s(self) -> float:
        """Seconds since the last list, event or bookmark; infinite before the first list."""
        return self._clock() - self._heard_at_s

    def heard(self) -> None:
        self._heard_at_s = self._clock()


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched(Generic[_Observed]):
    """Describes a watch: its objects, their decoding, and the receiver.  ``selector`` is by labels."""

    kind: str
    path: str
    selector: str
    field_selector: str = ""
    decode_page: Callable[[bytes], ListPage[_Observed]]
    decode_object: Callable[[msgspec.Raw], _Observed]
    listed: Callable[[Sequence[_Observed]], None]
    seen: Callable[[_Observed], None]
    gone: Callable[[_Observed], None]
    page_size: int | None = None
    """The size of a page of objects that are larger than a pod; None: that of the limits."""


def watched_pods(namespace: str, selector: str, sink: PodSink) -> Watched[PodObservation]:
    """Pods of a namespace that ``selector`` selects."""
    return Watched(
        kind="pods",
        path=pods_path(namespace),
        selector=selector,
        decode_page=decode_pod_page,
        decode_object=decode_pod,
        listed=sink.pods_listed,
        seen=sink.pod_seen,
        gone=sink.pod_gone,
    )


async def watch(
    client: KubeApi,
    watched: Watched[_Observed],
    *,
    clock: Clock,
    random: Random,
    limits: WatchLimits | None = None,
    health: WatchHealth | None = None,
) -> NoReturn:
    """Report the watched objects, until cancelled.  To be run as a task of its own."""
    limits = limits or WatchLimits()
    if watched.page_size is not None:
        limits = replace(limits, page_size=min(limits.page_size, watched.page_size))
    await ListWatch(client, watched, random, limits, health or WatchHealth(clock)).run()


class ListWatch(Generic[_Observed]):
    """The loop; its state is the resource version reached (None: list first) and the failures in a row."""

    def __init__(
        self, api: KubeApi, watched: Watched[_Observed], random: Random, limits: WatchLimits, health: WatchHealth
    ) -> None:
        self._api, self._random, self._limits, self._health = api, random, limits, health
        self._watched: Watched[_Observed] = watched
        self._version: str | None = None

    async def run(self) -> NoReturn:
        while True:
            delay_s = await self._round()
            if delay_s > 0:
                await asyncio.sleep(delay_s)

    async def _round(self) -> float:
        """A listing if one is due and one connection; returns the seconds to wait before the next round."""
        try:
            if self._version is None:
                self._version = await self._list()
            heard_anything = await self._follow(self._version)
        except ApiStatus as status:
            if status.is_gone:
                self._version = None
            return self._failed(status, status.retry_after_s or 0.0)
        except msgspec.DecodeError as malformed:
            self._version = None
            return self._failed(malformed)
        except Unavailable as silence:
            return self._failed(silence)
        return 0.0 if heard_anything else self._failed(Unavailable("the watch ended without an event"))

    def _failed(self, error: Exception, at_least_s: float = 0.0) -> float:
        self._health.failures_in_a_row += 1
        delay_s = max(at_least_s, self._limits.backoff.delay_s(self._health.failures_in_a_row, self._random))
        _log.warning(
            "watch_interrupted",
            kind=self._watched.kind,
            error=str(error),
            failures=self._health.failures_in_a_row,
            delay_s=round(delay_s, 3),
            relist=self._version is None,
        )
        return delay_s

    async def _list(self) -> str:
        """Hand the whole truth to the sink; returns its resource version."""
        objects: list[_Observed] = []
        continuation = ""
        for _ in range(PAGES_MAX):
            page = self._watched.decode_page(await self._api.call(self._list_request(continuation)))
            objects.extend(page.items)
            continuation = page.continuation
            if not continuation:
                self._watched.listed(objects)
                self._health.listings += 1
                self._health.heard()
                return page.resource_version
            await asyncio.sleep(0)  # other tasks run between two pages, whatever the transport has buffered
        raise Unavailable(f"a listing of {self._watched.kind} with more than {PAGES_MAX} pages")

    async def _follow(self, version: str) -> bool:
        """One connection until it ends; True when at least one event or bookmark came."""
        loop, stall_s, heard_anything = asyncio.get_running_loop(), self._limits.stall_s, False
        lines = LineBuffer(LINE_BYTES_MAX)
        self._health.connections += 1
        try:
            async with (
                asyncio.timeout(stall_s) as deadline,
                self._api.stream(self._watch_request(version)) as chunks,
            ):
                async for chunk in chunks:
                    events = lines.feed(chunk)
                    for line in events:
                        self._deliver(line)
                    if events:
                        heard_anything = True
                        deadline.reschedule(loop.time() + stall_s)
                    await asyncio.sleep(0)  # a burst that is already buffered must not keep others waiting
        except TimeoutError as stall:
            raise Unavailable(f"no event or bookmark for {stall_s:g} s") from stall
        return heard_anything

    def _deliver(self, line: bytes) -> None:
        event = decode_event(line)
        if event.type == "ERROR":
            raise status_of_event(bytes(event.object))
        if event.type == "BOOKMARK":
            version = decode_version(event.object)
        else:
            observed = self._watched.decode_object(event.object)
            version = observed.resource_version
            self._tell(event.type, observed)
        self._version = version or self._version
        self._health.failures_in_a_row = 0
        self._health.heard()

    def _tell(self, event_type: str, observed: _Observed) -> None:
        if event_type in ("ADDED", "MODIFIED"):
            self._watched.seen(observed)
        elif event_type == "DELETED":
            self._watched.gone(observed)
        else:
            raise msgspec.DecodeError(f"a watch event of type {event_type[:40]!r}")

    def _list_request(self, continuation: str) -> ApiRequest:
        # No resourceVersion: a consistent read.  "0" would be answered from a cache that may be older than what we saw.
        query = {**self._selectors(), "limit": str(self._limits.page_size)}
        if continuation:
            query["continue"] = continuation
        return ApiRequest(path=self._watched.path, query=query, timeout_s=self._limits.list_timeout_s)

    def _watch_request(self, version: str) -> ApiRequest:
        query = {
            "watch": "1",
            **self._selectors(),
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(round(self._limits.connection_s * (1 + self._random()))),
        }
        return ApiRequest(path=self._watched.path, query=query, timeout_s=self._limits.open_timeout_s)

    def _selectors(self) -> dict[str, str]:
        by_field = self._watched.field_selector
        return {"labelSelector": self._watched.selector, **({"fieldSelector": by_field} if by_field else {})}


class LineBuffer:
    """Cuts chunks into lines.  What follows the last newline waits for more; at the end of a connection it is dropped,
    because the event is told again from the last resource version."""

    def __init__(self, line_bytes_max: int) -> None:
        self._line_bytes_max = line_bytes_max
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that are now complete, without empty ones.

        Raises:
            msgspec.DecodeError: a line is longer than allowed.
        """
        self._rest += chunk
        *lines, rest = self._rest.split(b"\n") if b"\n" in chunk else [self._rest]
        self._rest = rest
        if len(rest) > self._line_bytes_max:
            raise msgspec.DecodeError(f"a watch event of more than {self._line_bytes_max} bytes")
        return [bytes(line) for line in lines if line.strip()]
