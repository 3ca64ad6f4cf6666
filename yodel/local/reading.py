"""Lists and watches: from a request's parameters to bytes, as JSON objects or as printed tables.

An object's JSON is made once, when it is stored; lists and watches only join those bytes.  A page of a limited list is
cut from the live state: the token carries the version of the first page, so a watch from there sees every later change.
"""

from __future__ import annotations

import asyncio
import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

import msgspec

from yodel.local import tables
from yodel.local.discovery import RESOURCES
from yodel.local.objects import ObjectChange, ObjectStore, StoredObject
from yodel.local.selectors import Selector, parse_selector
from yodel.local.statuses import ApiError, Json, bad_request, expired

WATCH_TIMEOUT_DEFAULT_S = 3600
WATCH_TIMEOUT_MAX_S = 24 * 3600
BOOKMARK_INTERVAL_S = 60.0
LIST_LIMIT_MAX = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRequest:
    """One list or watch.  ``as_table`` and ``include`` come from content negotiation and ``includeObject``."""

    resource: str
    namespace: str | None
    selector: Selector
    resource_version: str = ""
    version_match: str = ""
    limit: int = 0
    continue_token: str = ""
    as_table: bool = False
    include: str = "Metadata"
    bookmarks: bool = False
    initial_events: bool = False
    timeout_s: int = WATCH_TIMEOUT_DEFAULT_S


@dataclass(frozen=True, slots=True)
class Continue:
    """Locates the start of the next page: after ``(namespace, name)``."""

    version: int
    after: tuple[str, str]

    def to_text(self) -> str:
        return urlsafe_b64encode(msgspec.json.encode([self.version, *self.after])).decode()

    @classmethod
    def parse(cls, text: str) -> Continue:
        try:
            version, namespace, name = msgspec.json.decode(urlsafe_b64decode(text), type=tuple[int, str, str])
        except (binascii.Error, ValueError, msgspec.MsgspecError) as error:
            raise bad_request("continue key is not valid") from error
        return cls(version, (namespace, name))


def parse_read_request(
    resource: str, namespace: str | None, name: str, query: Mapping[str, str], accept: str
) -> ReadRequest:
    """``name`` restricts to one object (a watch of a single one).  Raises ApiError (400)."""
    selector = parse_selector(resource, query.get("labelSelector", ""), query.get("fieldSelector", ""))
    if name:
        selector = Selector(
            selector.labels, (*selector.fields, *parse_selector(resource, "", f"metadata.name={name}").fields)
        )
    return ReadRequest(
        resource=resource,
        namespace=namespace,
        selector=selector,
        resource_version=query.get("resourceVersion", ""),
        version_match=query.get("resourceVersionMatch", ""),
        limit=_number(query, "limit", 0, LIST_LIMIT_MAX),
        continue_token=query.get("continue", ""),
        as_table=wants_table(accept),
        include=query.get("includeObject", "Metadata"),
        bookmarks=is_true(query, "allowWatchBookmarks"),
        initial_events=is_true(query, "sendInitialEvents"),
        timeout_s=_number(query, "timeoutSeconds", WATCH_TIMEOUT_DEFAULT_S, WATCH_TIMEOUT_MAX_S)
        or WATCH_TIMEOUT_DEFAULT_S,
    )


def wants_table(accept: str) -> bool:
    """kubectl asks for a table first and names plain JSON as the last resort."""
    return "as=Table" in accept


def is_true(query: Mapping[str, str], name: str) -> bool:
    return query.get(name, "").lower() in ("1", "true", "t")


def list_body(store: ObjectStore, request: ReadRequest, at: datetime) -> bytes:
    """A whole ``…List`` or ``Table``.  Raises ApiError (410, 504)."""
    version = _list_version(store, request)
    records = [r for r in store.list(request.resource, request.namespace) if request.selector.matches(r.item)]
    if request.continue_token:
        token = Continue.parse(request.continue_token)
        if not store.reaches_back_to(token.version):
            text = "The provided continue parameter is too old to display a consistent list result."
            raise expired(text)
        version = token.version
        records = [record for record in records if record.key[1:] > token.after]
    metadata: Json = {"resourceVersion": str(version)}
    if request.limit and len(records) > request.limit:
        if request.selector.is_empty:
            metadata["remainingItemCount"] = len(records) - request.limit
        records = records[: request.limit]
        metadata["continue"] = Continue(version, records[-1].key[1:]).to_text()
    return _encode_list(request, records, metadata, at)


def _list_version(store: ObjectStore, request: ReadRequest) -> int:
    if request.resource_version in ("", "0"):
        return store.version
    wanted = parse_version(request.resource_version)
    if wanted > store.version:
        text = f"Too large resource version: {wanted}, current: {store.version}"
        details: Json = {"causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]}
        raise ApiError(504, "Timeout", text, {**details, "retryAfterSeconds": 1})
    if request.version_match == "Exact" and wanted != store.version:
        raise expired(f"The resourceVersion for the provided list is too old: {wanted}")
    return store.version


def _encode_list(request: ReadRequest, records: list[StoredObject], metadata: Json, at: datetime) -> bytes:
    if request.as_table:
        items = (record.item for record in records)
        body = tables.table(request.resource, items, at, metadata=metadata, include=request.include)
        return msgspec.json.encode(body)
    head = {"kind": f"{RESOURCES[request.resource].kind}List", "apiVersion": "v1", "metadata": metadata}
    joined = b",".join(record.encoded for record in records)
    return msgspec.json.encode(head)[:-1] + b',"items":[' + joined + b"]}"


class Watch:
    """One watch: opened (and perhaps refused) before the answer starts, then a stream of JSON lines."""

    def __init__(self, store: ObjectStore, request: ReadRequest, now: Callable[[], datetime]) -> None:
        """Raises ApiError (410)."""
        self._store, self._request, self._now = store, request, now
        self._shows_columns = True
        starts_with_state = request.initial_events or request.resource_version in ("", "0")
        since = store.version if starts_with_state else parse_version(request.resource_version)
        self._initial = store.list(request.resource, request.namespace) if starts_with_state else []
        self._initial_version = store.version
        self._subscription = store.subscribe(request.resource, since)

    async def lines(self) -> AsyncIterator[bytes]:
        """Until the request's time is over; a watch that fell behind ends with an ERROR line."""
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + self._request.timeout_s
        try:
            if initial := self._initial_lines():
                yield initial
            while (left_s := ends_at - loop.time()) > 0:
                try:
                    async with asyncio.timeout(min(left_s, BOOKMARK_INTERVAL_S)):
                        changes = await self._subscription.next()
                except TimeoutError:
                    if self._request.bookmarks:
                        yield self._bookmark(self._store.version)
                    continue
                if lines := b"".join(self._line(change) for change in changes):
                    yield lines
        except ApiError as error:
            yield msgspec.json.encode({"type": "ERROR", "object": error.to_json()}) + b"\n"
        finally:
            self._subscription.close()

    def _initial_lines(self) -> bytes:
        matching = [record for record in self._initial if self._request.selector.matches(record.item)]
        self._initial = []
        lines = b"".join(self._encode("ADDED", record) for record in matching)
        if self._request.initial_events and self._request.bookmarks:
            lines += self._bookmark(self._initial_version, {"k8s.io/initial-events-end": "true"})
        return lines

    def _line(self, change: ObjectChange) -> bytes:
        """A change as this watch sees it: leaving the selector is a deletion, entering it an addition."""
        if self._request.namespace is not None and change.record.key[1] != self._request.namespace:
            return b""
        selector = self._request.selector
        before = change.previous is not None and selector.matches(change.previous.item)
        after = change.kind != "DELETED" and selector.matches(change.record.item)
        if not before and not after:
            return b""
        kind = ("MODIFIED" if before else "ADDED") if after else "DELETED"
        return self._encode(kind, change.record)

    def _encode(self, kind: str, record: StoredObject) -> bytes:
        if not self._request.as_table:
            return b'{"type":"%s","object":' % kind.encode() + record.encoded + b"}\n"
        body = tables.table(
            self._request.resource,
            (record.item,),
            self._now(),
            metadata={"resourceVersion": str(record.version)},
            include=self._request.include,
            with_columns=self._shows_columns,
        )
        self._shows_columns = False
        return msgspec.json.encode({"type": kind, "object": body}) + b"\n"

    def _bookmark(self, version: int, annotations: Mapping[str, str] | None = None) -> bytes:
        metadata: Json = {"resourceVersion": str(version)}
        if annotations:
            metadata["annotations"] = annotations
        kind = RESOURCES[self._request.resource].kind
        item: Json = {"kind": kind, "apiVersion": "v1", "metadata": metadata}
        if self._request.as_table:
            item = tables.table(
                self._request.resource, (), self._now(), metadata=metadata, include="None", with_columns=False
            )
        return msgspec.json.encode({"type": "BOOKMARK", "object": item}) + b"\n"


def parse_version(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 20:
        raise bad_request(f'resourceVersion: Invalid value: "{text}": must be a positive integer')
    return int(text)


def _number(query: Mapping[str, str], name: str, default: int, maximum: int) -> int:
    text = query.get(name, "")
    if not text:
        return default
    if not text.isascii() or not text.isdigit() or len(text) > 10:
        raise bad_request(f"invalid {name}: {text[:20]!r}")
    return min(int(text), maximum)
