"""Ended applications as they were rendered, page by page, shared by all who read them.

What has ended changes rarely; when it does, its page is made again of the bytes that are still right and of what
changed.  A page is one run of bytes that every reader is sent as it is: a thousand readers of ten thousand applications
hold references.  What lives is on no page: its answer changes with time.  Everything is bounded: pages beyond the bound
are made for each reader, and go when they were sent; so do all pages while too many old ones are held by slow readers.
"""

from __future__ import annotations

import weakref
import zlib
from collections.abc import Callable
from dataclasses import dataclass

from yodel.domain.ids import ApplicationId
from yodel.services.applications.log_aggregation import LogAggregationReports
from yodel.services.views.queries import ApplicationView, Queries
from yodel.services.views.rows import IndexPage

BYTES_MAX = 64 * 1024 * 1024
"""The most bytes of all that is kept in one form: forty thousand applications.  What is compressed adds a tenth."""
REPLACED_BYTES_MAX = 32 * 1024 * 1024
"""The most bytes of replaced pages that somebody still reads: beyond it new readers get no pages to hold."""
COMPRESSION_LEVEL = 4

Render = Callable[[ApplicationView], bytes]
"""One application for somebody who may see all of it, with what separates it from the next."""


@dataclass(frozen=True, slots=True)
class Span:
    """Locates an application's bytes in its page, with the facts that they show."""

    facts: tuple[object, ...]
    begin: int
    end: int


@dataclass(slots=True, weakref_slot=True, eq=False)
class RenderedPage:
    """A page's ended applications, newest first.

    ``is_whole``: nothing of the page is missing in it.  ``is_settled``: passing time does not change what is missing.
    """

    version: tuple[int, int]
    body: bytes
    spans: dict[ApplicationId, Span]
    is_whole: bool
    is_settled: bool
    _deflated: tuple[int, bytes] | None = None

    def of(self, application_id: ApplicationId) -> bytes | None:
        span = self.spans.get(application_id)
        return self.body[span.begin : span.end] if span is not None else None

    def deflated(self, length: int) -> bytes:
        """The first ``length`` bytes for a gzip stream (``deflate_part``); made once."""
        if self._deflated is None or self._deflated[0] != length:
            self._deflated = length, deflate_part(memoryview(self.body)[:length])
        return self._deflated[1]


class RenderedApplications:
    """The pages in one form, JSON or XML."""

    def __init__(self, queries: Queries, log_aggregation: LogAggregationReports, render: Render) -> None:
        self._queries, self._log_aggregation, self._render = queries, log_aggregation, render
        self._pages: dict[int, RenderedPage] = {}
        self._replaced: weakref.WeakSet[RenderedPage] = weakref.WeakSet()
        self._bytes = 0

    @property
    def is_crowded(self) -> bool:
        """Return True if so many replaced pages are held that new readers should hold none."""
        return sum(len(page.body) for page in self._replaced) > REPLACED_BYTES_MAX

    def shared(self, number: int) -> RenderedPage | None:
        """A page that readers may hold on to, since it is kept as well; None when there is no room for it."""
        if self.known(number) is None and self._bytes < BYTES_MAX:
            self.page(number)
        return self.known(number)

    def known(self, number: int) -> RenderedPage | None:
        """A page that is rendered and as it should be."""
        found = self._pages.get(number)
        page = self._queries.rows.pages.get(number)
        if found is None or page is None or found.version != self._version(page) or not found.is_settled:
            return None
        return found

    def page(self, number: int) -> RenderedPage | None:
        """A page as it is now; None when all its applications are forgotten.  A few milliseconds if it is new."""
        found = self.known(number)
        if found is not None:
            return found
        page, old = self._queries.rows.pages.get(number), self._pages.pop(number, None)
        if old is not None:
            self._bytes -= len(old.body)
            self._replaced.add(old)
        if page is None:
            return None
        made = self._made(page, old)
        self._keep(number, made)
        return made

    def application(self, application_id: ApplicationId) -> bytes | None:
        """An ended one that is on a page which is rendered already."""
        number = self._queries.rows.page_of(application_id)
        found = self.known(number) if number is not None else None
        return found.of(application_id) if found is not None else None

    def _version(self, page: IndexPage) -> tuple[int, int]:
        return page.version, self._queries.rows.addresses_version

    def _made(self, page: IndexPage, old: RenderedPage | None) -> RenderedPage:
        spans: dict[ApplicationId, Span] = {}
        parts: list[bytes] = []
        begin, version, is_settled = 0, self._version(page), True
        for application_id in reversed(page.ids):
            if self._queries.rows.is_live(application_id):
                continue
            view = self._queries.application(application_id)
            if not view.application.finished_ms or not self._log_aggregation.is_settled(view.application):
                is_settled = False
                continue
            facts = self._facts(view)
            span = old.spans.get(application_id) if old is not None else None
            if old is not None and span is not None and span.facts == facts:
                part = old.body[span.begin : span.end]
            else:
                part = self._render(view)
            parts.append(part)
            spans[application_id] = Span(facts, begin, begin + len(part))
            begin += len(part)
        return RenderedPage(version, b"".join(parts), spans, len(spans) == len(page.ids), is_settled)

    def _facts(self, view: ApplicationView) -> tuple[object, ...]:
        """All that an ended application's bytes are made of; a new row is a new object."""
        return (
            view.application,
            view.attempt,
            view.am_container,
            view.am_node.http_address if view.am_node is not None else None,
            view.memory_mib_s,
            view.vcore_s,
            view.preempted,
            self._log_aggregation.status_of(view.application),
        )

    def _keep(self, number: int, page: RenderedPage) -> None:
        """Keep the page while there is room; pages of forgotten applications make some."""
        known = self._queries.rows.pages
        if len(self._pages) >= len(known):
            self._pages = {kept: found for kept, found in self._pages.items() if kept in known}
            self._bytes = sum(len(found.body) for found in self._pages.values())
        if self._bytes < BYTES_MAX:
            self._pages[number] = page
            self._bytes += len(page.body)


def deflate_part(data: bytes | memoryview) -> bytes:
    """Data as a part of a raw deflate stream that ends at a byte and looks at nothing before it: parts may follow each
    other in any order."""
    compressor = zlib.compressobj(COMPRESSION_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    return compressor.compress(data) + compressor.flush(zlib.Z_FULL_FLUSH)
