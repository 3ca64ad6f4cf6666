"""Spark: a cluster-mode job, and dynamic allocation with the nodes' external shuffle service."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from tests.conformance.clients.outcome import Outcome, Scenario
from tests.conformance.clients.target import Target
from tests.conformance.cluster import Cluster
from tests.conformance.expected import points_inside
from tests.conformance.spark_submit import Spark

SIDE = 400
TASKS = 6
WITH_SERVICE = {
    "spark.shuffle.service.enabled": "true",
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "0",
    "spark.dynamicAllocation.initialExecutors": "0",
    "spark.dynamicAllocation.maxExecutors": "2",
    "spark.dynamicAllocation.schedulerBacklogTimeout": "1s",
    "spark.dynamicAllocation.executorIdleTimeout": "2s",
    "spark.executor.instances": "",
}


def pi(target: Target, line: str) -> Outcome:
    with _folder() as folder:
        arguments = (SIDE, 2, folder / "report.json")
        return _outcome(target, line, "pi.py", arguments, {}, lambda found: found["inside"] == points_inside(SIDE))


def shuffle_service(target: Target) -> Outcome:
    """Executors come under load and go when idle."""
    with _folder() as folder:
        report = folder / "report.json"
        arguments = (TASKS, 1000, 12, report, folder / "loaded", folder / "idle")
        port = {"spark.shuffle.service.port": str(target.spark_shuffle_port)}
        right = {"sum": sum(range(TASKS)), "at_end": 0}
        return _outcome(
            target,
            "4.x",
            "grow_and_shrink.py",
            arguments,
            {**WITH_SERVICE, **port},
            lambda found: right.items() <= found.items(),
        )


def _outcome(
    target: Target, line: str, job: str, arguments: tuple[Any, ...], conf: Mapping[str, str], is_right: Any
) -> Outcome:
    where = SimpleNamespace(ready=SimpleNamespace(hadoop_conf_dir=target.conf_dir))
    result = Spark(line, cast("Cluster", where)).submit("cluster", job, *arguments, conf=conf)
    if not result.application_id:
        return Outcome(exit_code=result.returncode, output=result.text[-3000:])
    app = target.ended(result.application_id)
    report = next(a for a in arguments if isinstance(a, Path))
    facts = {
        "answer is right": report.exists() and bool(is_right(json.loads(report.read_text()))),
        "state": app["state"],
        "type": app["applicationType"],
        "diagnostics": app["diagnostics"],
    }
    return Outcome(exit_code=result.returncode, final_status=app["finalStatus"], facts=facts)


@contextmanager
def _folder() -> Iterator[Path]:
    """One that test and containers see under the same path."""
    folder = Path(tempfile.mkdtemp(prefix="yodel-shared-"))
    folder.chmod(0o1777)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


SCENARIOS = (
    Scenario(client="Spark", name="pi, cluster mode", run=lambda t: pi(t, "4.x"), version="4.3.0"),
    Scenario(client="Spark", name="pi, cluster mode", run=lambda t: pi(t, "3.5.x"), version="3.5.9"),
    Scenario(client="Spark", name="external shuffle service", run=shuffle_service, version="4.3.0"),
)
