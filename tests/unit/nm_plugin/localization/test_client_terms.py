"""What a submitter set beside a shuffle service: what goes with it, what leaves it, and what ends the attempt."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nm_plugin.localization.client_terms import (
    Terms,
    conflict,
    hindrance,
    jar_resource,
    kept_for_dynamic_allocation,
    left_by,
    names_the_manager,
    terms_of,
)
from nm_plugin.localization.plan import Visibility
from yodel.domain.shuffle.spark_release import SparkRelease

NEW, OLD = SparkRelease(major=3, minor=5), SparkRelease(major=3, minor=4)
DYNAMIC = {b"spark.dynamicAllocation.enabled": b"true"}
TRACKING = b"spark.dynamicAllocation.shuffleTracking.enabled"
PLUGIN = b"spark.shuffle.sort.io.plugin.class"


def terms(service: str, when_away: str = "spark", jar: str = "local:/x.jar") -> Terms:
    found = terms_of({"service": service, "when-away": when_away, "jar": jar, "jar-sha256": "0f"})
    assert found is not None
    return found


def test_tokens_of_others_say_nothing_of_a_client() -> None:
    for said in ({}, {"service": "spark-decommission"}, {"service": "of a later release", "jar": "local:/x.jar"}):
        assert terms_of(said) is None
    assert terms("celeborn").has_lines
    assert terms_of({"service": "celeborn", "jar": "local:/x.jar", "lines": "none"}) == replace(
        terms("celeborn"), when_away="", sha256="", has_lines=False
    )


@pytest.mark.parametrize(
    ("service", "when_away", "release", "keys"),
    [
        ("celeborn", "spark", NEW, set()),
        ("celeborn", "refuse", NEW, {PLUGIN, TRACKING}),
        ("celeborn", "refuse", OLD, set()),
        ("uniffle", "spark", NEW, {PLUGIN}),
        ("uniffle", "refuse", NEW, {PLUGIN, TRACKING}),
    ],
)
def test_what_is_for_dynamic_allocation(service: str, when_away: str, release: SparkRelease, keys: set[bytes]) -> None:
    kept = kept_for_dynamic_allocation(terms(service, when_away), DYNAMIC, release)
    assert {one.key.encode() for one in kept} == keys
    assert kept_for_dynamic_allocation(terms(service, when_away), {}, release) == ()


@pytest.mark.parametrize(
    ("service", "when_away", "release", "services", "reason"),
    [
        ("celeborn", "spark", OLD, (), ""),
        ("celeborn", "refuse", OLD, (), ""),
        ("uniffle", "spark", NEW, ("spark_shuffle",), ""),
        ("uniffle", "spark", NEW, ("mapreduce_shuffle",), "needs the auxiliary service spark_shuffle"),
        ("uniffle", "spark", OLD, ("spark_shuffle",), "needs Spark 3.5 with uniffle; it has Spark 3.4"),
        ("uniffle", "refuse", NEW, (), ""),
        ("uniffle", "refuse", OLD, (), "needs Spark 3.5 with uniffle"),
    ],
)
def test_dynamic_allocation_that_cannot_be(
    service: str, when_away: str, release: SparkRelease, services: tuple[str, ...], reason: str
) -> None:
    found = hindrance(terms(service, when_away), DYNAMIC, release, services)
    assert reason in found
    assert bool(found) == bool(reason)
    assert hindrance(terms(service, when_away), {}, release, services) == ""


@pytest.mark.parametrize(
    ("when_away", "release", "more", "has_conflict"),
    [
        ("spark", NEW, {}, True),
        ("spark", NEW, {PLUGIN: b"own"}, False),
        ("refuse", NEW, {}, False),
        ("refuse", OLD, {}, True),
    ],
)
def test_tracking_off_without_a_plug_in(
    when_away: str, release: SparkRelease, more: dict[bytes, bytes], has_conflict: bool
) -> None:
    said = DYNAMIC | {TRACKING: b"FALSE"} | more
    assert ("without spark.shuffle.sort.io" in conflict(terms("celeborn", when_away), said, release)) == has_conflict
    assert conflict(terms("celeborn"), {TRACKING: b"false"}, release) == ""


@pytest.mark.parametrize("key", ["shuffle.service.enabled", "executor.userClassPathFirst", "driver.userClassPathFirst"])
def test_what_cannot_go_with_it_says_key_value_and_every_way_out(key: str) -> None:
    text = conflict(terms("uniffle"), {f"spark.{key}".encode(): b"true"}, NEW)
    for part in (f"spark.{key}=true", "uniffle", "spark.shuffle.manager=sort", "yodel-no-remote-shuffle"):
        assert part in text
    assert conflict(terms("uniffle"), {f"spark.{key}".encode(): b"false"}, NEW) == ""


def test_who_names_the_service_himself_stays() -> None:
    own = {b"spark.shuffle.manager": b"org.apache.spark.shuffle.RssShuffleManager"}
    assert names_the_manager(terms("uniffle"), own)
    assert left_by(terms("uniffle"), own) == ""
    assert "RssShuffleManager" in left_by(terms("celeborn"), own)
    assert not names_the_manager(terms("uniffle"), {})
    assert left_by(terms("uniffle"), {b"spark.serializer": b"org.apache.spark.serializer.KryoSerializer"}) == ""
    assert "JavaSerializer" in left_by(terms("uniffle"), {b"spark.serializer": b"x.JavaSerializer"})


@pytest.mark.parametrize(
    ("jar", "url"),
    [
        ("hdfs://nn:8020/a/x.jar", "hdfs://nn:8020/a/x.jar"),
        ("hdfs:/a/x.jar", "hdfs:/a/x.jar"),
        ("file:///a/x.jar", "file:/a/x.jar"),
    ],
)
def test_jar_is_everybodys_and_known_by_its_content(jar: str, url: str) -> None:
    found = jar_resource(terms("celeborn", jar=jar))
    assert found is not None
    assert (str(found.key.url), found.key.sha256, found.visibility) == (url, "0f", Visibility.PUBLIC)
    assert jar_resource(terms("celeborn", jar="local:///a/x.jar")) is None
