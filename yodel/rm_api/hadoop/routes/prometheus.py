"""``/prom``: the cluster's counts under the names of Hadoop's own Prometheus endpoint."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from yodel.rm_api.hadoop.routes.jmx import metric_beans
from yodel.rm_api.hadoop.services import services_of
from yodel.serving.pieces import taking_turns
from yodel.serving.turns import others_first
from yodel.telemetry.limit import Daemon
from yodel.telemetry.limits import REFUSALS

PIECE = 20
"""Beans that are read in one go: two milliseconds."""
TAGS = ("tag.Queue", "tag.Context", "tag.Hostname")
DEPRECATED = {
    "colocation_overwrites_total": "colocation_put_backs_total",
    "colocation_preempted_containers_total": "taken_back_containers_total",
    "colocation_preemption_notices_total": "taken_back_notices_total",
    "kube_requests_rejected_total": "kubernetes_turned_away",
    "kube_throttled_seconds_total": "kubernetes_waited_seconds",
    "node_usage_watch_lag_seconds": "holdings_watch_staleness_seconds",
    "nodes_reserved": "nodes_held",
}
"""Gauges that had another name, which is served for one release along with the right one."""
_WORD = re.compile(r"(?<=[^A-Z_])(?=[A-Z])|(?<=.)(?=[A-Z][a-z])")


async def _families(beans: Sequence[Mapping[str, Any]]) -> Iterable[Metric]:
    """Metrics beans as PrometheusMetricsSink names them: words of the record and the attribute, tags as labels."""
    families: dict[str, GaugeMetricFamily] = {}
    async for bean in taking_turns(beans, PIECE):
        record = bean["modelerType"].partition(",")[0]
        tags = {name.removeprefix("tag.").lower(): str(bean[name]) for name in TAGS if name in bean}
        for attribute, value in bean.items():
            if not isinstance(value, (int, float)):
                continue
            name = metric_name(record, attribute)
            if name not in families:
                families[name] = GaugeMetricFamily(name, name.replace("_", " "), labels=tuple(tags))
            families[name].add_metric(tuple(tags.values()), value)
    return families.values()


@cache
def metric_name(record: str, attribute: str) -> str:
    """``QueueMetrics`` and ``AllocatedMB`` are ``queue_metrics_allocated_mb``."""
    text = record + attribute[:1].upper() + attribute[1:]
    return _WORD.sub("_", text).lower()


class _Gauges(Collector):
    """Ours, which Hadoop does not have."""

    def __init__(self, values: Mapping[str, float]) -> None:
        self._values = values

    def collect(self) -> Iterable[Metric]:
        for name, value in self._values.items():
            yield GaugeMetricFamily(f"yodel_{name}", name.replace("_", " "), value)
            if name in DEPRECATED:
                yield GaugeMetricFamily(f"yodel_{DEPRECATED[name]}", f"Deprecated: use yodel_{name}.", value)


class RefusalCounts(Collector):
    """Refusals by a limit (``yodel_refusals_total``), of all limits that are looked at here."""

    def collect(self) -> Iterable[Metric]:
        family = CounterMetricFamily("yodel_refusals", "calls and connections refused by a limit", labels=("limit",))
        for name, count in REFUSALS.counts(Daemon.RESOURCE_MANAGER).items():
            family.add_metric((name,), count)
        yield family


@dataclass(frozen=True, slots=True)
class _One(Collector):
    """A family of which the text is made by itself: that of all is theirs, one after another."""

    family: Metric

    def collect(self) -> Iterable[Metric]:
        return (self.family,)


async def prometheus(request: Request) -> Response:
    services, text = services_of(request), list[bytes]()
    ours = (*RefusalCounts().collect(), *_Gauges(services.process.gauges()).collect())
    for family in (*await _families(await metric_beans(services)), *ours):
        text.append(generate_latest(_One(family)))
        await others_first()
    return Response(b"".join(text), media_type=CONTENT_TYPE_LATEST)


ROUTES = (Route("/prom", prometheus),)
