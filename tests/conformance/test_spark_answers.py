"""Unmodified Spark, both release lines and both deploy modes, gets the right answer to the last digit."""

from __future__ import annotations

import json
import pathlib

import pytest

from tests.conformance.expected import expected_groups, points_inside
from tests.conformance.spark_submit import Spark

ROWS, KEYS, GROUPS = 5_000_000, 100_000, 7
SIDE = 2_000


def test_closed_form_agrees_with_counting_by_hand() -> None:
    rows, keys, groups = 24, 6, 4
    by_hand = [[0, 0] for _ in range(groups)]
    for row in range(rows):
        k = row % keys
        by_hand[k % groups][0] += 1
        by_hand[k % groups][1] += row * (k * k + 1)
    assert expected_groups(rows, keys, groups) == [[g, n, str(s)] for g, (n, s) in enumerate(by_hand)]


@pytest.mark.parametrize("deploy_mode", ["cluster", "client"])
def test_pi_is_counted_exactly(any_spark: Spark, deploy_mode: str, shared_dir: pathlib.Path) -> None:
    report = shared_dir / "pi.json"
    result = any_spark.submit(deploy_mode, "pi.py", SIDE, 4, report, conf={"spark.ui.enabled": "true"})
    assert result.returncode == 0, result.text[-6000:]
    assert json.loads(report.read_text())["inside"] == points_inside(SIDE)
    application = any_spark.cluster.ended(result.application_id)
    assert (application["state"], application["finalStatus"]) == ("FINISHED", "SUCCEEDED")
    assert application["applicationType"] == "SPARK"


@pytest.mark.parametrize("deploy_mode", ["cluster", "client"])
def test_join_and_group_by_of_five_million_rows_is_exact(
    any_spark: Spark, deploy_mode: str, shared_dir: pathlib.Path
) -> None:
    report = shared_dir / "groups.json"
    sizes = {"spark.executor.memory": "1g", "spark.executor.instances": "2"}
    result = any_spark.submit(deploy_mode, "join_and_group.py", ROWS, KEYS, GROUPS, report, conf=sizes)
    assert result.returncode == 0, result.text[-6000:]
    assert json.loads(report.read_text()) == expected_groups(ROWS, KEYS, GROUPS)
    assert any_spark.cluster.ended(result.application_id)["finalStatus"] == "SUCCEEDED"
