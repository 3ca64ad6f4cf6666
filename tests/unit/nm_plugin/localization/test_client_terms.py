"""A submitter's settings beside a shuffle service go with it, leave it or end the attempt."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nm_plugin.localization.client_terms import (
    TokenTerms,
    conflict,
    hindrance,
    jar_resource,
    left_by,
    names_the_manager,
    terms_of,
    unmet,
)
from nm_plugin.localization.plan import Visibility
from yodel.domain.shuffle.spark_release import SparkRelease
from yodel.hadoop_pb import yarn_protos_pb2 as pb

NEW, OLD = SparkRelease(major=3, minor=5), SparkRelease(major=3, minor=4)
DYNAMIC = {b"spark.dynamicAllocation.enabled": b"true"}
TRACKING = b"spark.dynamicAllocation.shuffleTracking.enabled"
PLUGIN = b"spark.shuffle.sort.io.plugin.class"
POLICY = b"spark.celeborn.client.spark.shuffle.fallback.policy"
FORCED = b"spark.celeborn.client.spark.shuffle.forceFallback.enabled"


def terms(service: str, when_away: str = "spark", jar: str = "local:/x.jar") -> TokenTerms:
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


def launched(service: str, when_away: str) -> bytes:
    """Return a launch context as the ResourceManager writes its command."""
    policy = "AUTO" if when_away == "spark" else "NEVER"
    options = [f"'-D{POLICY.decode()}={policy}'"] if service == "celeborn" else []
    return pb.ContainerLaunchContextProto(command=["java", *options, "x.Main"]).SerializeToString()


def met(
    service: str, when_away: str, said: dict[bytes, bytes], release: SparkRelease = NEW, context: bytes | None = None
) -> set[bytes]:
    context = launched(service, when_away) if context is None else context
    causes = unmet(context, terms(service, when_away), said, release)
    return {PLUGIN, TRACKING} - {key.encode() for key in causes}


@pytest.mark.parametrize(
    ("service", "when_away", "release", "static", "dynamic"),
    [
        ("celeborn", "spark", NEW, set(), set()),
        ("celeborn", "refuse", NEW, {PLUGIN}, {PLUGIN, TRACKING}),
        ("celeborn", "refuse", OLD, set(), set()),
        ("uniffle", "refuse", NEW, set(), {PLUGIN, TRACKING}),
    ],
)
def test_what_has_conditions(
    service: str, when_away: str, release: SparkRelease, static: set[bytes], dynamic: set[bytes]
) -> None:
    assert met(service, when_away, {}, release) == static
    assert met(service, when_away, DYNAMIC, release) == dynamic


def test_submitters_own_policy_says_whether_anything_can_fall_back() -> None:
    """And what nobody is sure of can: a plug-in that claims too much loses what fell back."""
    assert met("celeborn", "refuse", {POLICY: b"AUTO"}) == set()
    assert met("celeborn", "refuse", {POLICY: b"always"} | DYNAMIC) == set()
    assert met("celeborn", "refuse", {FORCED: b"TRUE"}) == set()
    assert met("celeborn", "spark", {POLICY: b"never"}) == {PLUGIN}
    assert met("celeborn", "spark", {POLICY: b"NEVER"} | DYNAMIC) == {PLUGIN, TRACKING}
    assert met("celeborn", "refuse", {}, context=b"") == set()


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
    assert reason in str(found or "")
    assert bool(found) == bool(reason)
    assert hindrance(terms(service, when_away), {}, release, services) is None


@pytest.mark.parametrize(
    ("when_away", "release", "more", "has_conflict"),
    [
        ("spark", NEW, {}, True),
        ("spark", NEW, {PLUGIN: b"own"}, False),
        ("spark", NEW, {POLICY: b"NEVER"}, False),
        ("refuse", NEW, {POLICY: b"AUTO"}, True),
        ("refuse", NEW, {}, False),
        ("refuse", OLD, {}, True),
    ],
)
def test_tracking_off_without_a_plug_in(
    when_away: str, release: SparkRelease, more: dict[bytes, bytes], has_conflict: bool
) -> None:
    said = DYNAMIC | {TRACKING: b"FALSE"} | more
    kept = {key.decode() for key in met("celeborn", when_away, said, release)}
    assert ("without spark.shuffle.sort.io" in conflict(b"", terms("celeborn", when_away), said, kept)) == has_conflict
    assert conflict(b"", terms("celeborn"), {TRACKING: b"false"}, ()) == ""


def bringing(*paths: str) -> bytes:
    context = pb.ContainerLaunchContextProto()
    for number, path in enumerate(paths):
        context.localResources.add(key=f"link-{number}").value.resource.file = path
    return context.SerializeToString()


OWN_JARS = {
    "uniffle": "rss-client-spark3-shaded-0.9.2.jar",
    "celeborn": "celeborn-client-spark-3-shaded_2.12-0.5.4.jar",
}


@pytest.mark.parametrize("key", ["shuffle.service.enabled", "executor.userClassPathFirst", "driver.userClassPathFirst"])
@pytest.mark.parametrize("service", ["uniffle", "celeborn"])
def test_what_cannot_go_with_it_says_key_value_and_every_way_out(service: str, key: str) -> None:
    context = bringing("/x/a.jar", f"/x/{OWN_JARS[service]}")
    text = conflict(context, terms(service), {f"spark.{key}".encode(): b"true"}, ())
    for part in (f"spark.{key}=true", service, "spark.shuffle.manager=sort", "yodel-no-remote-shuffle"):
        assert part in text
    assert conflict(context, terms(service), {f"spark.{key}".encode(): b"false"}, ()) == ""


def test_users_classes_may_come_first_where_he_brings_no_client() -> None:
    """The queue's own jar is the last on the JVM's class path, and no class of it is in the user's loader."""
    first = {b"spark.executor.userClassPathFirst": b"true"}
    for path in ("/x/my-celeborn-client-spark-jobs.jar", f"/x/{OWN_JARS['celeborn']}.sha256", "/x/a.jar"):
        assert conflict(bringing(path), terms("celeborn"), first, ()) == ""
    assert conflict(bringing(f"/x/{OWN_JARS['uniffle']}"), terms("celeborn"), first, ()) == ""
    in_image = {b"spark.yarn.secondary.jars": f"a.jar,local:/opt/{OWN_JARS['celeborn']}".encode()}
    assert OWN_JARS["celeborn"] in conflict(b"", terms("celeborn"), first | in_image, ())


def test_who_names_the_service_himself_stays() -> None:
    own = {b"spark.shuffle.manager": b"org.apache.spark.shuffle.RssShuffleManager"}
    assert names_the_manager(terms("uniffle"), own)
    assert left_by(terms("uniffle"), own) is None
    assert "RssShuffleManager" in str(left_by(terms("celeborn"), own))
    assert not names_the_manager(terms("uniffle"), {})
    assert left_by(terms("uniffle"), {b"spark.serializer": b"org.apache.spark.serializer.KryoSerializer"}) is None
    assert "JavaSerializer" in str(left_by(terms("uniffle"), {b"spark.serializer": b"x.JavaSerializer"}))


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
