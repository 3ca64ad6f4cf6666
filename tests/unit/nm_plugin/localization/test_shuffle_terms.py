"""A container token names the terms of shuffle, and a submitter may set some things beside it."""

from __future__ import annotations

import pytest

from nm_plugin.localization import shuffle_terms
from nm_plugin.localization.spark_conf import properties
from yodel.domain.shuffle import decision, words
from yodel.domain.shuffle.spark_decommission import SPARK_DECOMMISSION

TERMS = {"service": "spark-decommission", "when-away": "spark", "decommission": "true"}
KEEPING = TERMS | {"fallback": "hdfs:///s/alice/", "clean-up": "true"}
BESIDE = b"spark.shuffle.service.enabled=true\n"


def test_both_sides_use_the_same_names() -> None:
    assert shuffle_terms.SERVICE == words.SERVICE
    assert shuffle_terms.OPT_OUT_TAG == decision.OPT_OUT_TAG
    assert SPARK_DECOMMISSION.name == shuffle_terms.SPARK_DECOMMISSION
    told = {shuffle_terms.DECOMMISSION, shuffle_terms.FALLBACK, shuffle_terms.CLEAN_UP}
    assert told == SPARK_DECOMMISSION.told.keys()


def test_conflict_names_key_value_and_what_to_change() -> None:
    reason = shuffle_terms.conflict(TERMS, properties(BESIDE))
    assert reason.startswith("spark.shuffle.service.enabled=true cannot be combined with spark-decommission")
    assert "spark.decommission.enabled=false" in reason
    assert "yodel-no-remote-shuffle" in reason


@pytest.mark.parametrize(
    ("terms", "content"),
    [
        (TERMS, b""),
        (TERMS, b"spark.shuffle.service.enabled=false\n"),
        (TERMS, b"spark.shuffle.service.enabled=\n"),
        (TERMS, BESIDE + b"spark.decommission.enabled=false\n"),
        ({}, BESIDE),
        ({"service": "another"}, BESIDE),
    ],
)
def test_nothing_in_the_way(terms: dict[str, str], content: bytes) -> None:
    assert shuffle_terms.conflict(terms, properties(content)) == ""


@pytest.mark.parametrize(
    ("terms", "content", "path"),
    [
        (KEEPING, b"", "hdfs:///s/alice/application_1_0001"),
        (KEEPING | {"clean-up": "false"}, b"", ""),
        (KEEPING, b"spark.storage.decommission.fallbackStorage.cleanUp=false\n", ""),
        (KEEPING, b"spark.storage.decommission.fallbackStorage.path=hdfs:///mine/\n", ""),
        (TERMS, b"", ""),
    ],
)
def test_what_a_driver_left(terms: dict[str, str], content: bytes, path: str) -> None:
    assert shuffle_terms.left_over(terms, properties(content), "application_1_0001") == path


def test_executors_decommission_where_the_queue_says_so() -> None:
    assert shuffle_terms.decommissions(TERMS)
    assert not shuffle_terms.decommissions({"service": "spark-decommission"})
    assert not shuffle_terms.decommissions({})
