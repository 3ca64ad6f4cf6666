"""Log lines by YARN's own ways: from the node agent that has them, from any that reads what was aggregated, or else
from the log server that the first one sends on to.  Where a node cannot be reached from here, as behind a port-forward,
the ResourceManager reads them.

The ResourceManager says where each container's logs are (``/applications/ID/logs``).  A node agent lists and serves
those of applications it still knows, uploaded ones too, and aggregated ones of applications that are over.  Where it
can do neither, its pages may redirect to a log server (``yarn.log.server.url``), a history server.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote, urlsplit

import httpx2

from yodel.client.api import PREFIX, JsonObject, RmClient
from yodel.domain.log_lists import files_in, message_in
from yodel.errors import NotFound, Unavailable, YodelError

FILES_MAX = 1_000
SEARCH_TIMEOUT = httpx2.Timeout(100.0, connect=5.0)
"""A node agent reads through aggregated files before it answers."""
Write = Callable[[bytes], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSelection:
    """Selects lines: of one container or all, of the ApplicationMasters only, of one file.

    ``size_bytes`` is that of ``yarn logs -size``: bytes from the start, or from the end if negative.
    """

    container: str | None = None
    is_am_only: bool = False
    file: str | None = None
    size_bytes: int | None = None


class LogsNotFound(NotFound):
    """No lines were found; ``reasons`` says why of each container."""

    def __init__(self, application: str, reasons: Mapping[str, str]) -> None:
        self.reasons = reasons
        lines = [f"no logs of {application} found", *(f"  {name}: {reason}" for name, reason in reasons.items())]
        if not reasons:
            lines.append(f"  None of its selected containers has run on a node: yodel app show {application}")
        super().__init__("\n".join(lines))


async def print_logs(client: RmClient, application: str, wanted: LogSelection, write: Write) -> Mapping[str, str]:
    """Write all of them, container by container.  Returns what was not to be had of some, by container.

    Raises:
        ApiRefused, Unavailable: the ResourceManager.
        LogsNotFound: there was nothing at all.
    """
    reasons: dict[str, str] = {}
    has_any = False
    unreachable = set[str]()
    for entry in await client.items(f"/applications/{application}/logs"):
        if not _is_wanted(entry, wanted):
            continue
        try:
            found = await _container_logs(client, application, entry, wanted, write, unreachable)
        except (YodelError, httpx2.HTTPError) as error:
            reasons[entry["container_id"]] = str(error) or type(error).__name__
        else:
            has_any = has_any or found
            if not found:
                reasons[entry["container_id"]] = f"no file {wanted.file}" if wanted.file else "no log files"
    if not has_any:
        raise LogsNotFound(application, reasons)
    return reasons


def _is_wanted(entry: JsonObject, wanted: LogSelection) -> bool:
    if wanted.container is not None and entry["container_id"] != wanted.container:
        return False
    return bool(entry["is_am"]) or not wanted.is_am_only


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Holds the URLs that list and serve a container's files."""

    list_url: str
    files_url: str
    params: Mapping[str, str] = field(default_factory=dict)
    is_server: bool = False
    """It is the ResourceManager."""


async def _container_logs(
    client: RmClient,
    application: str,
    entry: JsonObject,
    wanted: LogSelection,
    write: Write,
    unreachable: set[str],
) -> bool:
    """Return True if the container had logs.  Raises YodelError, httpx2.HTTPError."""
    place, listed = await _served_at(client, application, entry, unreachable)
    shown = [name for name in _names(place, listed) if wanted.file in (None, name)]
    size = {} if wanted.size_bytes is None else {"size": str(wanted.size_bytes)}
    for name in shown:
        async for data in _text(client, f"{place.files_url}/{quote(name, safe='')}", {**place.params, **size}):
            write(data)
    return bool(shown)


async def _served_at(
    client: RmClient, application: str, entry: JsonObject, unreachable: set[str]
) -> tuple[_Place, httpx2.Response]:
    """The first place that has them, and its list; hosts that do not answer are added to ``unreachable``, and not asked
    again.

    Raises:
        Unavailable: there is none, or they are not for us.
    """
    here, node_id = str(entry["logs"]["files_url"]), str(entry["node_id"])
    trouble, is_reached = f"its node agent does not answer ({node_id})", urlsplit(here).netloc not in unreachable
    if is_reached:
        try:
            answer = await client.http.get(here, timeout=SEARCH_TIMEOUT)
        except httpx2.HTTPError as error:
            is_reached = False
            unreachable.add(urlsplit(here).netloc)
            trouble = f"its node agent does not answer ({node_id}: {error or type(error).__name__})"
        else:
            if answer.status_code == 200:
                return _Place(list_url=here, files_url=here), answer
            refused = f"{node_id} answered HTTP {answer.status_code}: {_words(answer)}"
            if answer.status_code == 403:
                raise Unavailable(refused)
            # A NodeManager answers 500 for containers that it has forgotten (NMWebServices.getContainerLogsInfo).
            trouble = "" if answer.status_code == 404 else refused
    if not is_reached:
        through = f"{client.server}{PREFIX}/applications/{application}/containers/{entry['container_id']}/logs"
        answer = await client.http.get(through, timeout=SEARCH_TIMEOUT)
        if answer.status_code == 200:
            return _Place(list_url=through, files_url=through, is_server=True), answer
        trouble += f", and the ResourceManager answered HTTP {answer.status_code}: {_words(answer)}"
    found = await _aggregated(client, entry)
    if found is not None:
        return found
    if trouble:
        raise Unavailable(trouble)
    return await _at_log_server(client, entry)


async def _aggregated(client: RmClient, entry: JsonObject) -> tuple[_Place, httpx2.Response] | None:
    """Ask the node agent that reads them; return None when there is none that can or nothing to read.

    Raises:
        Unavailable: they are not for us, or cannot be read now.
    """
    there: str | None = entry["logs"].get("aggregated_url")
    if there is None:
        return None
    url, _, query = there.partition("?")
    params = dict(parse_qsl(query))  # a query of the URL's own is lost where the client has parameters
    try:
        answer = await client.http.get(url, params=params, timeout=SEARCH_TIMEOUT)
    except httpx2.HTTPError:
        return None
    if answer.status_code in (403, 503):
        raise Unavailable(f"{urlsplit(there).netloc} answered HTTP {answer.status_code}: {_words(answer)}")
    return (_Place(list_url=url, files_url=url, params=params), answer) if answer.status_code == 200 else None


async def _at_log_server(client: RmClient, entry: JsonObject) -> tuple[_Place, httpx2.Response]:
    """Raises Unavailable: none is named, or it has nothing."""
    page = await client.http.get(entry["logs"]["page_url"])
    location = page.headers.get("location", "") if page.is_redirect else ""
    parts = urlsplit(location)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise Unavailable(
            f"{entry['node_id']} no longer has them, and no node agent finds aggregated ones; if they are stored "
            f"elsewhere, run: yarn logs -containerId {entry['container_id']}"
        )
    base = f"{parts.scheme}://{parts.netloc}/ws/v1/history"
    there = f"{base}/containers/{entry['container_id']}/logs"
    served = await client.http.get(there)
    if served.status_code != 200:
        raise Unavailable(f"the log server answered HTTP {served.status_code}; open them in a browser: {location}")
    return _Place(list_url=there, files_url=f"{base}/containerlogs/{entry['container_id']}"), served


def _names(place: _Place, answer: httpx2.Response) -> list[str]:
    """Return the names of the files, each once: local and uploaded parts of one come together.  Raises Unavailable."""
    try:
        found = [file["name"] for file in answer.json()["items"]] if place.is_server else [*files_in(answer.json())]
    except (ValueError, LookupError, TypeError) as error:
        raise Unavailable(f"{place.list_url} answered no list of files") from error
    return [name for name in found if isinstance(name, str)][:FILES_MAX]


async def _text(client: RmClient, url: str, params: Mapping[str, str]) -> AsyncIterator[bytes]:
    async with client.http.stream("GET", url, params=params, timeout=SEARCH_TIMEOUT) as answer:
        if answer.status_code != 200:
            await answer.aread()
            raise Unavailable(f"{url} answered HTTP {answer.status_code}: {_words(answer)}")
        async for data in answer.aiter_bytes():
            yield data


def _words(answer: httpx2.Response) -> str:
    try:
        return message_in(answer.json()) or answer.text[:100]
    except ValueError:
        return answer.text[:100]
