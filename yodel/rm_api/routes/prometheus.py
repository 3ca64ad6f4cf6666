"""``/prom``: the cluster's counts under the names of Hadoop's own Prometheus endpoint."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from yodel.domain.states import NodeState
from yodel.rm_api.context import api_of
from yodel.services.queries import ClusterMetrics


class _Counts(Collector):
    def __init__(self, found: ClusterMetrics) -> None:
        self._found = found

    def collect(self) -> Iterable[Metric]:
        found = self._found
        available = (found.total - found.used).at_least_zero()
        nodes = found.nodes_by_state
        for name, value in (
            ("cluster_metrics_num_active_n_ms", nodes.get(NodeState.RUNNING, 0)),
            ("cluster_metrics_num_lost_n_ms", nodes.get(NodeState.LOST, 0)),
            ("cluster_metrics_num_unhealthy_n_ms", nodes.get(NodeState.UNHEALTHY, 0)),
            ("cluster_metrics_num_shutdown_n_ms", nodes.get(NodeState.SHUTDOWN, 0)),
            ("cluster_metrics_capability_mb", found.total.memory_mib),
            ("cluster_metrics_capability_virtual_cores", found.total.vcores),
        ):
            yield GaugeMetricFamily(name, name.replace("_", " "), value)
        for name, value in (
            ("apps_submitted", found.submitted),
            ("apps_pending", found.pending),
            ("apps_running", found.running),
            ("apps_completed", found.completed),
            ("apps_failed", found.failed),
            ("apps_killed", found.killed),
            ("allocated_mb", found.used.memory_mib),
            ("allocated_v_cores", found.used.vcores),
            ("allocated_containers", found.containers_allocated),
            ("available_mb", available.memory_mib),
            ("available_v_cores", available.vcores),
            ("pending_mb", found.pending_resource.memory_mib),
            ("pending_v_cores", found.pending_resource.vcores),
            ("pending_containers", found.containers_pending),
        ):
            family = GaugeMetricFamily(f"queue_metrics_{name}", name.replace("_", " "), labels=("queue",))
            family.add_metric(("root",), value)
            yield family


class _Gauges(Collector):
    """Ours, which Hadoop does not have."""

    def __init__(self, values: Mapping[str, float]) -> None:
        self._values = values

    def collect(self) -> Iterable[Metric]:
        for name, value in self._values.items():
            yield GaugeMetricFamily(f"yodel_{name}", name.replace("_", " "), value)


async def prometheus(request: Request) -> Response:
    registry, services = CollectorRegistry(), api_of(request).services
    registry.register(_Counts(services.queries.metrics()))
    registry.register(_Gauges(services.gauges()))
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)


ROUTES = (Route("/prom", prometheus),)
