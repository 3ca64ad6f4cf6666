"""The process of the RM: it gains the lead where others may have it, opens the store and serves.

Order of start: lead, store, engine, ports open, Kubernetes watched, what was under way taken up.  All tasks live in one
group: when one fails, all end, the process exits, and whoever supervises it starts it again on the same store.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import secrets
import sys
from collections.abc import AsyncIterator, Callable

from yodel.errors import InvalidValue
from yodel.hadoop_http.probe_port import ProbePort
from yodel.host.clock import SystemClock
from yodel.ports.clock import Clock
from yodel.rm_api.server import serve as serve_rest
from yodel.rm_api.standby import standby_app
from yodel.services import recovery
from yodel.settings.rm import Settings
from yodel.store.engine import is_shared
from yodel.store.leadership import Leadership, LeaseTimes
from yodel.store.sql_lease import SqlLease, new_holder
from yodel.store.sql_store import SqlStore
from yodel.wiring import from_settings
from yodel.wiring.kerberos import Kerberos, kerberos_of
from yodel.wiring.kube import CLIENT_MODULE
from yodel.wiring.rm import Addresses, Rm
from yodel.wiring.web_rules import connection_limits

__all__ = ["Addresses", "run_rm"]


async def run_rm(
    settings: Settings,
    stop: asyncio.Event,
    *,
    on_ready: Callable[[Addresses], None] | None = None,
    reload: Callable[[], Settings] | None = None,
) -> None:
    """Serve until ``stop`` is set; on PostgreSQL, wait as a standby for the lead before.  ``reload`` reads the settings
    again for ``yarn rmadmin -refresh…``; it blocks, and raises InvalidValue.

    Raises:
        InvalidValue, Unavailable: settings, store or kubeconfig are not usable; nothing was started.
        OSError: a port is taken.
        LeadLost: another leads.  When that is known by the clock alone, the process is ended without an exception.
    """
    clock, health = SystemClock(), _Health()
    kerberos = await asyncio.to_thread(kerberos_of, settings)
    serve = _Serving(settings, clock, reload or (lambda: settings), on_ready, health, kerberos)
    if not is_shared(settings.store_url) and settings.leader_handover_s > 0:
        raise InvalidValue("leader_handover_s", settings.leader_handover_s, "0: no standby can share an SQLite file")
    async with _probed(settings, health):
        if is_shared(settings.store_url):
            await _serve_with_lead(settings, clock, serve, stop, health)
        else:
            await serve(stop, None)


class _Health:
    """Tells why nobody should be sent here, as who waits or serves tells it: one port of probes for both."""

    def __init__(self) -> None:
        self.not_ready: Callable[[], str] = lambda: "starting"

    def reason(self) -> str:
        return self.not_ready()


@contextlib.asynccontextmanager
async def _probed(settings: Settings, health: _Health) -> AsyncIterator[None]:
    probes = ProbePort(health.reason)
    await probes.start(settings.bind_host, settings.probe_port)
    try:
        yield
    finally:
        await probes.stop()


async def _serve_with_lead(
    settings: Settings, clock: Clock, serve: _Serving, stop: asyncio.Event, health: _Health
) -> None:
    holder, times = new_holder(), LeaseTimes(lease_s=settings.leader_lease_s)
    lease = SqlLease(settings.store_url, holder, times)
    leadership = Leadership(lease, holder, times, clock, _end_process)
    health.not_ready = lambda: f"standby: {leadership.reason}"
    try:
        if await _gain_lead(settings, clock, leadership, stop):
            await _lead(serve, leadership, stop, settings.leader_handover_s)
    finally:
        await leadership.release()


async def _gain_lead(settings: Settings, clock: Clock, leadership: Leadership, stop: asyncio.Event) -> bool:
    """Gain the lead, behind the standby's few pages while another leads; False when ``stop`` came first."""
    if await leadership.try_to_gain():
        return True
    pages = standby_app(clock.now_ms(), lambda: leadership.reason)
    limits = connection_limits(settings.web)
    web, _ = await serve_rest(pages, settings.bind_host, settings.webapp_port, limits)
    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(asyncio.to_thread(importlib.import_module, CLIENT_MODULE))  # a second: better now
            return await leadership.gain(stop)
    finally:
        await web.stop()


async def _lead(serve: _Serving, leadership: Leadership, stop: asyncio.Event, handover_s: float) -> None:
    ended = asyncio.Event()

    async def end() -> None:
        await stop.wait()
        await leadership.wait_for_successor(handover_s)
        ended.set()

    async with asyncio.TaskGroup() as tasks:
        around = [
            tasks.create_task(leadership.keep(), name="leadership"),
            tasks.create_task(end(), name="orderly end"),
        ]
        await serve(ended, leadership)
        for task in around:
            task.cancel()


def _end_process(_: str) -> None:
    """Nothing is tidied up: whatever is under way here is for another to decide by now."""
    sys.stderr.flush()
    os._exit(1)


class _Serving:
    """Serves from the store, once it is ours."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        reload: Callable[[], Settings],
        on_ready: Callable[[Addresses], None] | None,
        health: _Health,
        kerberos: Kerberos | None,
    ) -> None:
        self._settings, self._clock, self._reload, self._on_ready = settings, clock, reload, on_ready
        self._health, self._kerberos = health, kerberos

    async def __call__(self, stop: asyncio.Event, lead: Leadership | None) -> None:
        store = SqlStore(self._settings.store_url, lead=lead)
        try:
            queues = from_settings.queues(self._settings)
            enforcement = from_settings.enforcement(self._settings)
            stored = await recovery.opened(store, self._clock, queues, secrets.token_bytes, enforcement)
            rm = Rm(self._settings, self._clock, store, stored, self._reload, lead, self._kerberos)
            self._health.not_ready = rm.not_ready
            await rm.run(stop, self._on_ready)
        finally:
            await store.close()
