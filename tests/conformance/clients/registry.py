"""Every client script, in the order of the table."""

from __future__ import annotations

from tests.conformance.clients import api_client, commands, flink, hive, mapreduce, shell, spark, tez
from tests.conformance.clients.outcome import Scenario
from tests.support.hadoop_jars import RELEASES

REST_API = "rest-api"
SCENARIOS: tuple[Scenario, ...] = (
    *mapreduce.SCENARIOS,
    *commands.SCENARIOS,
    *api_client.SCENARIOS,
    *shell.SCENARIOS,
    *tez.SCENARIOS,
    *hive.SCENARIOS,
    *flink.SCENARIOS,
    *spark.SCENARIOS,
)


def chosen(*, full: bool) -> list[tuple[Scenario, str]]:
    """Scenario and Hadoop line.  The short form has one line a scenario and leaves out what takes minutes."""
    pairs = [(scenario, line) for scenario in SCENARIOS for line in scenario.lines]
    return [(s, line) for s, line in pairs if full or (s.short and line == s.lines[0])]


def recorded_scripts() -> list[str]:
    """Names of all whose answers from a real Hadoop are kept: the short form's, and the calls of the REST API."""
    return [*(scenario.id for scenario, _ in chosen(full=False)), REST_API]


def version_of(scenario: Scenario, line: str) -> str:
    return scenario.version or RELEASES[line]
