"""Checks that the pod of this ResourceManager is still meant to run.

A kubelet that does not answer ends nothing: when its node was found NotReady, or deleted, the pod is replaced while its
processes run on.  Services send no callers to them any more, and as long as such a process leads, its replacement only
waits.  So a leader reads its own pod now and then, and ends when that is gone, or should have ended.

A silent API server, and one that refuses to answer, prove nothing about the pod.
"""

from __future__ import annotations

import asyncio
from datetime import datetime
from http import HTTPStatus
from urllib.parse import quote

import msgspec
import structlog

from yodel.errors import Unavailable
from yodel.kube.api import ApiRequest, ApiStatus, KubeApi
from yodel.ports.clock import Clock

LOOK_EVERY_S = 5.0
LATE_S = 5.0
"""How long after the end of its grace a process must have seen SIGKILL, if there is a kubelet."""
log = structlog.get_logger("yodel.own_pod")


class _OwnMetadata(msgspec.Struct, rename="camel"):
    deletion_timestamp: datetime | None = None


class _OwnPodObject(msgspec.Struct):
    metadata: _OwnMetadata


class OwnPod:
    """One pod, by name: a Deployment never gives a name twice."""

    def __init__(self, api: KubeApi, clock: Clock, *, namespace: str, name: str) -> None:
        self._api, self._clock, self._name = api, clock, name
        self._path = f"/api/v1/namespaces/{quote(namespace, safe='')}/pods/{quote(name, safe='')}"
        self._silence = ""

    async def until_over(self) -> str:
        """Returns, with the reason, once the pod is gone or its grace period is over."""
        while (reason := await self.look()) is None:  # noqa: ASYNC110 - only who asks is told
            await asyncio.sleep(LOOK_EVERY_S)
        log.warning("pod is being deleted", pod=self._name, reason=reason)
        return reason

    async def look(self) -> str | None:
        """Return why this process should not be any more; None when it should, or nobody says."""
        try:
            pod = msgspec.json.decode(await self._api.call(ApiRequest(path=self._path)), type=_OwnPodObject)
        except ApiStatus as status:
            if status.code == HTTPStatus.NOT_FOUND:
                return "it does not exist any more"
            self._not_said(str(status))
            return None
        except (Unavailable, msgspec.DecodeError) as error:
            self._not_said(str(error))
            return None
        self._silence = ""
        end = pod.metadata.deletion_timestamp  # of the API server: when the grace period ends
        if end is None or self._clock.now_ms() < (end.timestamp() + LATE_S) * 1000:
            return None
        return f"its grace period ended at {end.isoformat()}"

    def _not_said(self, why: str) -> None:
        if why != self._silence:
            log.info("own pod not read", pod=self._name, reason=why)
        self._silence = why
