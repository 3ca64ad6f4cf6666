"""Reads logs of containers from node agents, for callers who may view the application (decision 0111).

An agent is asked only if it proved its name, at an address that is not one which each machine has for itself, without
a proxy and without following redirects.  Each call is signed for that node and that user, whom the agent judges again.
What it answers is a stranger's text: only its bytes are passed on, never its headers.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import islice
from urllib.parse import quote, urlencode

import httpx2
from starlette.requests import Request

from yodel.domain.container import Container
from yodel.domain.log_lists import files_in, message_in
from yodel.domain.node import Node
from yodel.errors import AccessDenied, InvalidValue, NotFound, Unavailable
from yodel.ports.clock import Clock
from yodel.rm_api.door.rim import reader
from yodel.rm_api.proxy.addresses import AddressRules
from yodel.rm_api.proxy.services import ProxyServices
from yodel.rm_api.proxy.web_proxy import Slots, Streamed, Target, caller_share
from yodel.services.nodes.agents import Agents
from yodel.services.views.queries import Queries
from yodel.serving.node_calls import HEADER, call_header
from yodel.telemetry.further_limits import LOG_READS, LOG_READS_OF_CALLER

READS_MAX, CALLER_READS_MAX = 8, 2
OTHERS_MAX = 3
"""Agents that are asked for aggregated logs, one after the other, if the container's own does not answer."""
AGENT_S = 10.0
"""Until one agent begins to answer: another one is asked then."""
ANSWER_S = 30.0
"""Until an answer begins; all of a list, or of the end of a log."""
LIST_BYTES_MAX = 1024 * 1024
FILES_MAX = 100
NAME_LENGTH_MAX = 255
WRAPPING_BYTES_MAX = 64 * 1024
"""Heads and tails around the parts of a log."""
TEXT_HEADERS = [
    (b"content-type", b"text/plain; charset=utf-8"),
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"sandbox; default-src 'none'"),
    (b"cache-control", b"no-store"),
]
_HEAD = re.compile(
    rb"Container: [^\n]{1,1000}\nLogAggregationType: [^\n]{1,50}\n=+\nLogType:[^\n]{1,1000}\n"
    rb"LogLastModifiedTime:[^\n]{1,100}\nLogLength:(\d{1,19})\nLogContents:\n"
)
_TAIL = re.compile(rb"\n?End of LogType:[^\n]{1,1000}\n\*+\n+")


class LogsUnavailable(Unavailable):
    """Says why logs cannot be read through the ResourceManager."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFile:
    """Describes one file of a container's logs; ``size_bytes`` is of all that is kept of it."""

    name: str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEnd:
    """Holds the end of a log: ``size_bytes`` is the whole, of which ``text`` is the last part."""

    text: bytes
    size_bytes: int


@dataclass(slots=True, kw_only=True)
class NodeLogs:
    """Asks node agents.  ``secret`` is what they share with the ResourceManager; empty: nothing is."""

    queries: Queries
    nodes: Agents
    proxy: ProxyServices
    clock: Clock
    secret: bytes
    slots: Slots = field(default_factory=Slots)

    async def files(self, request: Request, row: Container) -> list[LogFile]:
        """Return the files that there are of a container's logs, by name, at most FILES_MAX.

        Raises:
            NotFound, AccessDenied: as the node agent says.
            LogsUnavailable: no agent can be asked, or none answers.
        """
        let_go = self._take(request)
        try:
            async with asyncio.timeout(ANSWER_S):
                answer = await self._first(reader(request), row, "", {})
                return _files(await _bytes(answer, LIST_BYTES_MAX))
        except TimeoutError as error:
            raise LogsUnavailable(f"The list of files was not answered within {ANSWER_S:g} s") from error
        finally:
            let_go()

    async def end(self, request: Request, row: Container, name: str, size_bytes: int) -> LogEnd:
        """Return the last bytes of a log.  Raises as ``files``, and InvalidValue: no name of a file."""
        let_go = self._take(request)
        try:
            async with asyncio.timeout(ANSWER_S):
                answer = await self._first(reader(request), row, checked_name(name), {"size": str(-size_bytes)})
                return _end(await _bytes(answer, size_bytes + WRAPPING_BYTES_MAX), size_bytes)
        except TimeoutError as error:
            raise LogsUnavailable(f"The end of {name} was not answered within {ANSWER_S:g} s") from error
        finally:
            let_go()

    async def stream(self, request: Request, row: Container, name: str, size: int | None) -> Streamed:
        """Return a log as ``yarn logs`` prints it.  Raises as ``end``."""
        let_go = self._take(request)
        try:
            async with asyncio.timeout(ANSWER_S):
                query = {} if size is None else {"size": str(size)}
                answer = await self._first(reader(request), row, checked_name(name), query)
        except TimeoutError as error:
            let_go()
            raise LogsUnavailable(f"No node agent answered within {ANSWER_S:g} s") from error
        except BaseException:
            let_go()
            raise
        return Streamed(answer, list(TEXT_HEADERS), let_go, "The node agent")

    def _take(self, request: Request) -> Callable[[], None]:
        shares = ((LOG_READS, "", READS_MAX), (LOG_READS_OF_CALLER, caller_share(request), CALLER_READS_MAX))
        return self.slots.take(shares, request)

    async def _first(self, user: str, row: Container, name: str, query: Mapping[str, str]) -> httpx2.Response:
        """Return what the first agent answers that has them: the container's own, or any that reads aggregated ones.

        Raises:
            NotFound, AccessDenied: as that agent says.
            LogsUnavailable: none could be asked, with the reason.
        """
        own = self._own(row)
        below = f"/containers/{row.id}/logs" + (f"/{quote(name, safe='')}" if name else "")
        trouble = self._silence(own)
        asked = {**query, "user": row.user, "nm.id": str(own.id)}
        agents = [(own, f"/ws/v1/node{below}")] if not trouble else []
        agents += [(node, f"/ws/v1/history{below}") for node in self._others(own)]
        for node, path in agents:
            try:
                async with asyncio.timeout(AGENT_S):
                    return await self._asked(node, path, asked, user)
            except NotFound as error:
                if trouble:  # its own node may still have it
                    raise LogsUnavailable(trouble) from error
                raise
            except LogsUnavailable as error:
                trouble = trouble or str(error)
            except TimeoutError:
                trouble = trouble or f"The agent of node {node.id} did not answer within {AGENT_S:g} s"
        raise LogsUnavailable(trouble)

    def _own(self, row: Container) -> Node:
        """Raises NotFound, LogsUnavailable."""
        if row.node_id is None:
            raise NotFound(f"Container {row.id} has no logs: it has never been on a node")
        if not self.secret or not self.nodes.is_proof_required:
            raise LogsUnavailable("The ResourceManager shares no secret with node agents (setting node_token_file)")
        node = self.queries.rows.node_of(row)
        if node is None:
            return Node(id=row.node_id)
        if node.is_node_manager:
            raise LogsUnavailable(f"Node {node.id} is a NodeManager, which does not take calls of this ResourceManager")
        return node

    def _silence(self, node: Node) -> str:
        """Return why an agent cannot be asked; empty: it can."""
        if not node.is_registered or node.http_port <= 0 or not self.nodes.is_present(node.id):
            return f"Node {node.id} is gone or silent, and no other node agent has its logs"
        return ""

    def _others(self, own: Node) -> list[Node]:
        rows = self.queries.rows.nodes.values()
        can_read = (one for one in rows if one.id != own.id and one.is_usable and not one.is_node_manager)
        return list(islice((one for one in can_read if not self._silence(one)), OTHERS_MAX))

    async def _asked(self, node: Node, path: str, query: Mapping[str, str], user: str) -> httpx2.Response:
        """Raises NotFound, AccessDenied, LogsUnavailable."""
        host = f"[{node.id.host}]" if ":" in node.id.host else node.id.host
        url = f"http://{host}:{node.http_port}{path}?{urlencode(query)}"
        target_path = httpx2.URL(url).raw_path.decode("ascii")
        call = call_header(self.secret, node.kubernetes_node_name, "GET", target_path, user, self.clock.now_ms() / 1000)
        headers = [("accept", "application/json"), ("accept-encoding", "identity"), (HEADER, call)]
        try:
            target = Target.of(url, "", [node.id.host], self._addresses(node))
            answer = await self.proxy.web_proxy.sent("GET", url, target, headers, b"")
        except (httpx2.HTTPError, httpx2.InvalidURL, InvalidValue, Unavailable) as error:
            raise LogsUnavailable(
                f"The agent of node {node.id} does not answer: {error or type(error).__name__}"
            ) from error
        if answer.status_code == HTTPStatus.OK:
            return answer
        try:
            await _refused(answer, node)
        finally:
            await answer.aclose()
        raise AssertionError("refusals are raised")

    def _addresses(self, node: Node) -> AddressRules:
        """An address that each machine has for itself is the node's only if its heartbeats come from there."""
        heard_from = self.nodes.address_of(node.id)
        if not heard_from:
            raise LogsUnavailable(f"Node {node.id} has just left")
        return AddressRules(nodes=frozenset({heard_from}), own_ports=self.proxy.own_ports())


def checked_name(name: str) -> str:
    """Raises InvalidValue: no name of a file."""
    if not _is_name(name):
        raise InvalidValue("file", name[:80], f"the name of a file, at most {NAME_LENGTH_MAX} characters without slash")
    return name


def _is_name(name: str) -> bool:
    is_plain = name.isprintable() and "/" not in name and name not in ("", ".", "..")
    return is_plain and len(name) <= NAME_LENGTH_MAX


async def _refused(answer: httpx2.Response, node: Node) -> None:
    """Raises NotFound, AccessDenied, LogsUnavailable: why an agent did not answer with a log."""
    status, words = answer.status_code, _words(await _bytes(answer, WRAPPING_BYTES_MAX, is_closed=False))
    if status == HTTPStatus.NOT_FOUND:
        raise NotFound(f"Node {node.id} has no such log, and finds no aggregated one")
    if status == HTTPStatus.FORBIDDEN:
        raise AccessDenied(words or f"Node {node.id} refuses to show this log")
    if status == HTTPStatus.UNAUTHORIZED:
        reason = "its clock differs, or its node token is not that of the ResourceManager"
        raise LogsUnavailable(f"The agent of node {node.id} refused the call: {reason}")
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        raise LogsUnavailable(f"The agent of node {node.id} answered with a redirect, which is not followed")
    raise LogsUnavailable(f"The agent of node {node.id} answered HTTP {status}: {words}")


async def _bytes(answer: httpx2.Response, size_max: int, *, is_closed: bool = True) -> bytes:
    """Return at most so much of an answer.  Raises LogsUnavailable."""
    found = b""
    try:
        async for part in answer.aiter_raw():
            found += part
            if len(found) >= size_max:
                break
    except (httpx2.HTTPError, httpx2.StreamError) as error:
        raise LogsUnavailable(f"The node agent closed the connection early: {error!r}") from error
    finally:
        if is_closed:
            await answer.aclose()
    return found[:size_max]


def _files(body: bytes) -> list[LogFile]:
    """Raises LogsUnavailable: this is no list of files."""
    try:
        found = files_in(json.loads(body))
    except (ValueError, RecursionError) as error:
        raise LogsUnavailable("The node agent answered no list of files") from error
    return [LogFile(name=name, size_bytes=found[name]) for name in sorted(filter(_is_name, found))[:FILES_MAX]]


def _words(body: bytes) -> str:
    try:
        return message_in(json.loads(body))
    except (ValueError, RecursionError):
        return ""


def _end(body: bytes, size_bytes: int) -> LogEnd:
    """Return the text without the heads and tails around its parts."""
    whole = sum(int(found[1]) for found in _HEAD.finditer(body))
    text = _TAIL.sub(b"", _HEAD.sub(b"", body))[-size_bytes:]
    return LogEnd(text=text, size_bytes=max(whole, len(text)))
