"""``/prom``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.rest_world import RestWorld
from yodel.rm_api.hadoop.routes.prometheus import DEPRECATED, metric_name

YODEL = Path(__file__).resolve().parents[5] / "yodel"


async def test_gauges_of_the_composition_root_are_told_under_our_name(world: RestWorld) -> None:
    world.app.state.hadoop.process.gauges = lambda: {"watch_staleness_seconds": float("inf"), "watch_listings": 2}
    answer = await world.client.get("/prom")
    assert "yodel_watch_staleness_seconds +Inf" in answer.text
    assert "yodel_watch_listings 2.0" in answer.text


async def test_renamed_gauges_have_their_old_names_too_which_say_so(world: RestWorld) -> None:
    """The old names stay for one release."""
    world.app.state.hadoop.process.gauges = lambda: dict.fromkeys(DEPRECATED, 7.0)
    text = (await world.client.get("/prom")).text
    made = "".join(path.read_text() for path in YODEL.rglob("*.py") if path.name != "prometheus.py")
    for name, old in DEPRECATED.items():
        assert f'"{name}": ' in made, "somebody counts it"
        assert f"\nyodel_{name} 7.0\n" in text
        assert f"# HELP yodel_{old} Deprecated: use yodel_{name}.\n# TYPE yodel_{old} gauge\nyodel_{old} 7.0\n" in text


@pytest.mark.parametrize(
    ("record", "attribute", "expected"),
    [
        ("ClusterMetrics", "NumActiveNMs", "cluster_metrics_num_active_n_ms"),
        ("ClusterMetrics", "CapabilityMB", "cluster_metrics_capability_mb"),
        ("ClusterMetrics", "RmEventProcCPUAvg", "cluster_metrics_rm_event_proc_cpu_avg"),
        ("QueueMetrics", "AllocatedVCores", "queue_metrics_allocated_v_cores"),
        ("QueueMetrics", "AMResourceLimitMB", "queue_metrics_am_resource_limit_mb"),
        ("QueueMetrics", "running_60", "queue_metrics_running_60"),
    ],
)
def test_names_are_hadoops(record: str, attribute: str, expected: str) -> None:
    assert metric_name(record, attribute) == expected


async def test_refusals_are_counted_of_what_is_looked_at_here_alone(world: RestWorld) -> None:
    text = (await world.client.get("/prom")).text
    assert 'yodel_refusals_total{limit="http_connections"}' in text
    assert 'yodel_refusals_total{limit="node_http_connections"}' not in text


async def test_queues_are_labels(world: RestWorld) -> None:
    text = (await world.client.get("/prom")).text
    tags = 'context="yarn",hostname="rm-host"'
    assert f'queue_metrics_apps_submitted{{{tags},queue="root"}} 0.0' in text
    assert f'queue_metrics_apps_submitted{{{tags},queue="root.default"}} 0.0' in text
    assert f"cluster_metrics_num_active_n_ms{{{tags}}} 0.0" in text
    assert text.count("# TYPE queue_metrics_apps_submitted gauge") == 1
