"""Lists of applications as JSON or XML: pages of ended ones as they are kept, the living rendered as they are sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from starlette.requests import Request
from starlette.responses import Response

from yodel.domain.application import Application
from yodel.domain.ids import ApplicationId
from yodel.hadoop_http import xml
from yodel.hadoop_http.negotiate import JSON, JSON_UTF8, XML_UTF8, answer_encoded, answer_typed, encode
from yodel.rm_api.hadoop.long_answers import Later, Listing
from yodel.rm_api.hadoop.rendered import RenderedApplications, RenderedPage
from yodel.rm_api.hadoop.services import HadoopServices
from yodel.rm_api.hadoop.wire import apps as wire
from yodel.services.views.application_pages import index_pages
from yodel.services.views.queries import ApplicationFilter, ApplicationView

SHORT = 16
"""Lists up to here are one piece, which may be given again as a whole."""
PAGES_A_TURN = 8
"""That are looked through before somebody else has a turn."""
EVERYTHING = ApplicationFilter()
SEPARATOR = b","


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleApplications:
    """Holds the applications that a caller may see.

    ``may_view`` is None for callers who may view all; others see that an application exists, unless the list
    ``is_filtered``.
    """

    wanted: ApplicationFilter
    left_out: frozenset[str]
    may_view: Callable[[Application], bool] | None
    is_filtered: bool

    @property
    def is_everything(self) -> bool:
        """All that a page holds, just as it is kept."""
        return self.may_view is None and not self.left_out and replace(self.wanted, limit=None) == EVERYTHING

    def shows(self, application: Application) -> bool:
        if not self.wanted.accepts(application):
            return False
        return not self.is_filtered or self.may_view is None or self.may_view(application)


def pages_of(services: HadoopServices, media_type: str) -> RenderedApplications:
    """Return the rendered pages of this form."""
    found = services.rendered.get(media_type)
    if found is None:
        found = RenderedApplications(
            services.queries, services.log_aggregation, lambda view: rendered(services, view, media_type)
        )
        services.rendered[media_type] = found
    return found


def rendered(
    services: HadoopServices,
    view: ApplicationView,
    media_type: str,
    *,
    may_view: bool = True,
    left_out: frozenset[str] = frozenset(),
) -> bytes:
    """One application as it is now, with what separates it from the next."""
    application = view.application
    facts = wire.AppFacts(
        web_address=services.web_address,
        cluster_id=services.facts.cluster_id,
        queue_memory_mib=_queue_memory_mib(services, application),
        may_view=may_view,
        deselected=left_out,
        asks=services.queries.rows.asks_of(application.current_attempt_id) if not view.has_ended else (),
        now_ms=services.clock.now_ms(),
        log_aggregation_status=services.log_aggregation.status_of(application).name,
    )
    shown = wire.app(view, facts)
    return encode(shown) + SEPARATOR if media_type == JSON else xml.fragment("app", shown).encode()


def without_separator(body: bytes, media_type: str) -> bytes:
    return body[: -len(SEPARATOR)] if media_type == JSON else body


async def listed(
    request: Request, services: HadoopServices, selection: VisibleApplications, media_type: str
) -> Response:
    """The answer: in one piece if it is short, else in parts."""
    is_json = media_type == JSON
    head, tail = (b'{"apps":{"app":[', b"]}}") if is_json else (f"{xml.DECLARATION}<apps>".encode(), b"</apps>")
    typed = JSON_UTF8 if is_json else XML_UTF8
    parts, count = await _parts(services, selection, media_type)
    if count == 0:
        return answer_encoded(b'{"apps":{}}') if is_json else answer_typed(f"{xml.DECLARATION}<apps/>".encode(), typed)
    if count <= SHORT:
        body = b"".join(part.body if isinstance(part, RenderedPage) else part() for part in parts)
        return answer_typed(head + without_separator(body, media_type) + tail, typed)
    is_gzip = "gzip" in request.headers.get("accept-encoding", "")
    separator = len(SEPARATOR) if is_json else 0
    return Listing(head, parts, tail, separator=separator, media_type=typed, is_gzip=is_gzip)


async def _parts(
    services: HadoopServices, selection: VisibleApplications, media_type: str
) -> tuple[list[RenderedPage | Later], int]:
    """Newest first, and how many applications that is.  Rendering and searching have a turn now and then."""
    rows, pages = services.queries.rows, pages_of(services, media_type)
    limit = selection.wanted.limit
    left = limit if limit is not None else rows.application_count
    asked, may_hold = left, selection.is_everything and not pages.is_crowded
    parts: list[RenderedPage | Later] = []
    for turn, number in enumerate(reversed(index_pages(rows, selection.wanted))):
        if left <= 0:
            break
        is_new = may_hold and pages.known(number) is None
        page = pages.shared(number) if may_hold else None
        if is_new:
            await asyncio.sleep(0)
        if page is not None and page.is_whole and 0 < len(page.spans) <= left:
            parts.append(page)
            left -= len(page.spans)
            continue
        ids = _found(services, selection, number, left)
        if ids:
            parts.append(partial(_later, services, selection, media_type, number, ids))
            left -= len(ids)
        if turn % PAGES_A_TURN == PAGES_A_TURN - 1:
            await asyncio.sleep(0)
    return parts, asked - left


def _found(
    services: HadoopServices, selection: VisibleApplications, number: int, limit: int
) -> tuple[ApplicationId, ...]:
    """Return the selected applications of one page, newest first."""
    rows = services.queries.rows
    page = rows.pages.get(number)
    if page is None:
        return ()
    if selection.is_everything:
        return tuple(reversed(page.ids))[:limit]
    known = ((application_id, rows.application(application_id)) for application_id in reversed(page.ids))
    found = (application_id for application_id, row in known if row is not None and selection.shows(row))
    return tuple(islice(found, limit))


def _later(
    services: HadoopServices,
    selection: VisibleApplications,
    media_type: str,
    number: int,
    ids: tuple[ApplicationId, ...],
) -> bytes:
    """Applications of one page as they are now; what is forgotten by now is left out."""
    queries, found = services.queries, []
    rows, may_view = queries.rows, selection.may_view
    has_ended = not selection.left_out and not all(map(rows.is_live, ids))
    page = pages_of(services, media_type).page(number) if has_ended else None
    for application_id in ids:
        application = rows.application(application_id)
        if application is None:
            continue
        is_viewed = may_view is None or may_view(application)
        body = page.of(application_id) if page is not None and is_viewed else None
        if body is None:
            view = queries.application(application_id)
            body = rendered(services, view, media_type, may_view=is_viewed, left_out=selection.left_out)
        found.append(body)
    return b"".join(found)


def _queue_memory_mib(services: HadoopServices, application: Application) -> int:
    """Return the memory in MiB that the queue is guaranteed."""
    return services.queries.guaranteed(application.submission.queue).memory_mib
