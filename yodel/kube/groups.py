"""Group objects of the engines' schedulers: there before the first pod that names them, gone after their application.

``GroupedPods`` is the Pods port with one thing more: a pod that names a group is created after the group.  Groups are
not watched: what was created is remembered until the next sweep, which deletes the groups of applications that are
over, and a group that somebody deleted by hand is made again by the next pod after a sweep.  A sweep looks at kinds
that no queue wants any more, too: a queue may have changed its dialect while its applications ran.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import TypeVar
from urllib.parse import quote

import msgspec
import structlog

from yodel.errors import InvalidValue, Refused, Unavailable, YodelError
from yodel.kube.api import ApiRequest, ApiStatus, KubeApi
from yodel.kube.retrying import RetryLimits, retried
from yodel.ports.pods import Manifest, PodObservation, Pods
from yodel.translator.dialects import GangKind
from yodel.translator.pod_spec import Group

CREATED_MAX = 10_000
"""Names remembered; one too many only costs a call that finds its group there."""
PAGE_SIZE = 500
PAGES_MAX = 40
KindT = TypeVar("KindT")
log = structlog.get_logger("yodel.groups")


class _GroupKind(msgspec.Struct, frozen=True):
    name: str


class _GroupKinds(msgspec.Struct, frozen=True):
    """``metav1.APIResourceList``."""

    resources: list[_GroupKind] = []


class _GroupMetadata(msgspec.Struct, frozen=True):
    name: str = ""
    continuation: str = msgspec.field(default="", name="continue")


class _GroupItem(msgspec.Struct, frozen=True):
    metadata: _GroupMetadata


class _GroupPage(msgspec.Struct, frozen=True):
    metadata: _GroupMetadata = _GroupMetadata()
    items: list[_GroupItem] = []


async def require_kinds(api: KubeApi, kinds: Iterable[GangKind], limits: RetryLimits) -> None:
    """The API server serves the kinds.

    Raises:
        InvalidValue: it does not serve one: its CustomResourceDefinition is missing.
        Refused, Unavailable: it does not say.
    """
    for kind in kinds:
        request = ApiRequest(path=f"/apis/{kind.api_version}")
        body = await retried(partial(_call_or_none, api, request), f"Getting {kind.crd_name}", limits)
        served = _decoded(body, _GroupKinds).resources if body is not None else []
        if kind.plural not in [resource.name for resource in served]:
            expected = f"a cluster with the CustomResourceDefinition {kind.crd_name} in version {kind.api_version}"
            raise InvalidValue("gang", True, expected)


class GroupedPods:
    """Implements yodel.ports.pods.Pods.  ``group_of`` tells the group that a pod names, if any."""

    def __init__(
        self,
        pods: Pods,
        api: KubeApi,
        namespace: str,
        group_of: Callable[[Manifest], Group | None],
        limits: RetryLimits | None = None,
    ) -> None:
        self._pods, self._api, self._namespace = pods, api, namespace
        self._group_of, self._limits = group_of, limits or RetryLimits()
        self._created: set[tuple[GangKind, str]] = set()

    async def create(self, manifest: Manifest) -> None:
        group = self._group_of(manifest)
        if group is not None:
            await self._ensure(group)
        await self._pods.create(manifest)

    async def delete(self, name: str, *, grace_s: int | None = None) -> None:
        await self._pods.delete(name, grace_s=grace_s)

    async def resize(self, manifest: Manifest) -> None:
        await self._pods.resize(manifest)

    async def get(self, name: str) -> PodObservation | None:
        return await self._pods.get(name)

    async def priority_of(self, manifest: Manifest) -> int | None:
        return await self._pods.priority_of(manifest)

    async def require(self, kinds: Iterable[GangKind]) -> None:
        """The kinds are served here.  Raises like ``require_kinds``."""
        await require_kinds(self._api, kinds, self._limits)

    async def run_sweep(
        self,
        kinds: Callable[[], Collection[GangKind]],
        selector: str,
        live: Callable[[], Collection[str]],
        every_s: float,
        others: Collection[GangKind] = (),
    ) -> None:
        """Delete now and then the groups that ``selector`` selects and whose names are not ``live``.

        ``others`` are kinds that queues may have wanted before.  Most clusters neither have them nor let them be
        listed: a refusal is no matter, and is not asked for twice.
        """
        said: dict[GangKind, str] = {}
        closed: set[GangKind] = set()
        while True:
            await asyncio.sleep(every_s)
            wanted = kinds()
            for kind in dict.fromkeys((*wanted, *others)):
                if kind in closed and kind not in wanted:
                    continue
                try:
                    await self.sweep(kind, selector, live)
                    said.pop(kind, None)
                except YodelError as error:
                    if isinstance(error, Refused):
                        closed.add(kind)
                    if said.get(kind) != str(error):
                        say = log.warning if kind in wanted else log.info
                        say("groups not swept", kind=kind.crd_name, error=str(error))
                    said[kind] = str(error)

    async def sweep(self, kind: GangKind, selector: str, live: Callable[[], Collection[str]]) -> None:
        """Raises Refused, Unavailable."""
        self._created.clear()
        found = await self._names(kind, selector)
        for name in sorted(found - {*live()}):
            path = f"{self._path(kind)}/{quote(name, safe='')}"
            request = ApiRequest(method="DELETE", path=path)
            await retried(partial(_call_or_none, self._api, request), f"Deleting group {name}", self._limits)
            log.info("group deleted", group=name)

    async def _ensure(self, group: Group) -> None:
        key = (group.kind, group.name)
        if key in self._created:
            return
        request = ApiRequest(method="POST", path=self._path(group.kind), body=msgspec.json.encode(group.manifest))
        await retried(partial(self._create_once, request, group), f"Creating group {group.name}", self._limits)
        if len(self._created) >= CREATED_MAX:
            self._created.clear()
        self._created.add(key)

    async def _create_once(self, request: ApiRequest, group: Group) -> None:
        try:
            await self._api.call(request)
        except ApiStatus as status:
            if status.code == 404:
                text = f"Creating group {group.name}: {group.kind.crd_name} or namespace {self._namespace} is missing"
                raise Refused(text) from status
            if status.code != 409 or status.reason == "Conflict":
                raise

    async def _names(self, kind: GangKind, selector: str) -> set[str]:
        names: set[str] = set()
        query = {"labelSelector": selector, "limit": str(PAGE_SIZE)}
        for _ in range(PAGES_MAX):
            request = ApiRequest(path=self._path(kind), query=query)
            what = f"Listing {kind.crd_name}"
            body = await retried(partial(_call_or_none, self._api, request), what, self._limits)
            if body is None:
                return names  # without its definition there are none
            page = _decoded(body, _GroupPage)
            names |= {item.metadata.name for item in page.items}
            if not page.metadata.continuation:
                return names
            query = {**query, "continue": page.metadata.continuation}
        raise Unavailable(f"Listing {kind.crd_name}: more than {PAGES_MAX} pages")

    def _path(self, kind: GangKind) -> str:
        return f"/apis/{kind.api_version}/namespaces/{quote(self._namespace, safe='')}/{kind.plural}"


async def _call_or_none(api: KubeApi, request: ApiRequest) -> bytes | None:
    try:
        return await api.call(request)
    except ApiStatus as status:
        if status.code == 404:
            return None
        raise


def _decoded(body: bytes, kind: type[KindT]) -> KindT:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.DecodeError as malformed:
        raise Unavailable(f"the answer is malformed: {malformed}") from malformed
