"""Kubernetes as the RM has it: opened late, asked at a pace, and watched: pods, nodes, and what others' pods hold."""

from __future__ import annotations

import asyncio
import importlib
import random
from collections.abc import Awaitable, Callable

from yodel.kube.api import KubeApi
from yodel.kube.holdings import watched_holdings
from yodel.kube.late import LateKube
from yodel.kube.led import LedKube
from yodel.kube.nodes import watched_nodes
from yodel.kube.paced import PacedKube, PaceLimits
from yodel.kube.watch_loop import WatchHealth, WatchLimits, watch, watched_pods
from yodel.ports.clock import Clock
from yodel.ports.kube_nodes import NodeSink
from yodel.ports.pods import PodSink
from yodel.services.pods.binder import Binder
from yodel.settings.rm import Settings
from yodel.store.leadership import Leadership
from yodel.telemetry import garbage
from yodel.translator import names

CLIENT_MODULE = "yodel.kube.client"


class KubeSide:
    """``api`` is what everybody calls; it answers once ``watch_pods`` has opened the way."""

    def __init__(self, settings: Settings, clock: Clock, limits: PaceLimits, lead: Leadership | None) -> None:
        """Ask nothing, with a ``lead``, that might be answered after it is lost."""
        self._settings, self._clock = settings, clock
        self.late = LateKube()
        """For what must be known whoever leads: whether our own pod will be stopped."""
        self._is_binding = asyncio.Event()
        self._pods, self._nodes, self._holdings = (WatchHealth(clock.monotonic_s) for _ in range(3))
        way: KubeApi = self.late if lead is None else LedKube(self.late, lead.require)
        self.api = PacedKube(way, limits, clock=clock.monotonic_s, random=random.random)

    def bind(self) -> None:
        """Note that the RM chooses nodes from now on, or publishes lent capacity: the other pods there have to be
        watched."""
        self._is_binding.set()

    async def watch_pods(self, sink: PodSink, opened: Callable[[], Awaitable[None]]) -> None:
        """Opens Kubernetes, in a thread because importing its package blocks for a second; awaits ``opened``; watches
        our pods."""
        settings = self._settings
        module = await asyncio.to_thread(importlib.import_module, CLIENT_MODULE)
        async with await module.open_kube(settings.kubeconfig, settings.kube_context) as kube:
            self.late.open(kube)
            garbage.take_over()
            await opened()
            await watch(
                self.api,
                watched_pods(settings.namespace, names.selector(settings.cluster_name), sink),
                clock=self._clock.monotonic_s,
                random=random.random,
                limits=WatchLimits(page_size=settings.pod_list_page_size),
                health=self._pods,
            )

    async def watch_nodes(self, sink: NodeSink) -> None:
        """Watch the nodes.  If the RM has no right to list them unless it chooses nodes, this begins when it does."""
        if not self._settings.watch_nodes:
            await self._is_binding.wait()
        await watch(
            self.api,
            watched_nodes("", sink),
            clock=self._clock.monotonic_s,
            random=random.random,
            health=self._nodes,
        )

    async def watch_holdings(self, binder: Binder) -> None:
        """Once somebody has to know of them: it takes the right to list and watch all pods of the cluster."""
        await self._is_binding.wait()
        await watch(
            self.api,
            watched_holdings(binder),
            clock=self._clock.monotonic_s,
            random=random.random,
            limits=WatchLimits(page_size=self._settings.pod_list_page_size),
            health=self._holdings,
        )

    def gauges(self) -> dict[str, float]:
        """Return how well Kubernetes is seen and reached, by name."""
        nodes = {"node_watch_staleness_seconds": self._nodes.staleness_s} if self._settings.watch_nodes else {}
        usage = {"node_usage_watch_lag_seconds": self._holdings.staleness_s} if self._is_binding.is_set() else {}
        return {
            **nodes,
            **usage,
            "watch_staleness_seconds": self._pods.staleness_s,
            "watch_listings": self._pods.listings,
            "watch_connections": self._pods.connections,
            "watch_failures_in_a_row": self._pods.failures_in_a_row,
            "kube_requests_rejected_total": self.api.turned_away,
            "kube_throttled_seconds_total": self.api.waited_s,
        }
