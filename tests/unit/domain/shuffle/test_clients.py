"""Services that have a client: what a queue has to say of them, and what that comes to for an ApplicationMaster."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.domain.shuffle.test_decision import LAUNCH, QUEUE
from tests.unit.domain.shuffle.test_words import TREE, queue, said
from yodel.domain.queues.delegation import first_not_delegated
from yodel.domain.queues.history import change_between
from yodel.domain.scheduler_conf import PREFIX
from yodel.domain.shuffle.decision import (
    CLIENT_MODE_CLASS,
    OPT_OUT_TAG,
    TOLD_BYTES_MAX,
    ShuffleDecision,
    decided,
    for_submitter,
)
from yodel.domain.shuffle.service import Service
from yodel.domain.shuffle.services import SERVICES
from yodel.domain.shuffle.spark_release import LIBRARIES
from yodel.domain.shuffle.word import ShuffleProperty
from yodel.domain.shuffle.words import ENDPOINTS_MAX, JAR_LENGTH_MAX, MARKER, endpoints_of
from yodel.errors import Refused

DIGEST = "0123456789abcdef" * 4
CELEBORN = {
    "service": "celeborn",
    "endpoints": "m-1:9097,m-2.example:9097",
    "jar": "hdfs:///shuffle/celeborn_2.12.jar",
    "jar-sha256": DIGEST,
    "spark-version": "3.5.9",
}
UNIFFLE = {"service": "uniffle", "endpoints": "10.0.0.1:19999", "jar": "local:/opt/rss.jar", "spark-version": "3.5"}
PLUGIN = "spark.shuffle.sort.io.plugin.class"
HOSTILE = ["$(id)", "`id`", "a;b", "a'b", 'a"b', "a b", "{{PWD}}", "<CPS>", "a\\b", "{user}"]


def words_of(texts: dict[str, str]) -> tuple[ShuffleProperty, ...]:
    return queue(said(texts)).shuffle


def decision(texts: dict[str, str], away: str = "", **changes: object) -> ShuffleDecision:
    found = decided(QUEUE, words_of(texts), replace(LAUNCH, **changes), away)  # type: ignore[arg-type]
    assert found is not None
    return found


def test_endpoints_are_pairs_and_only_of_the_service_that_counts() -> None:
    assert endpoints_of(words_of(CELEBORN)) == (("m-1", 9097), ("m-2.example", 9097))
    assert endpoints_of(words_of({"service": "spark-decommission"})) == ()
    assert endpoints_of(queue(said(CELEBORN, "root.a"), said({"service": "none"})).shuffle) == ()


def test_another_service_has_nothing_of_the_one_above_and_another_jar_not_its_digest() -> None:
    below = queue(said(CELEBORN | {"when-away": "refuse"}, "root"), said(UNIFFLE)).shuffle
    assert {word.name: word.text for word in below} == UNIFFLE | {"when-away": "refuse"}
    with pytest.raises(Refused, match=r"Missing yarn\.scheduler\.capacity\.root\.a\.b\.yodel.*jar-sha256"):
        queue(said(CELEBORN, "root"), said({"jar": "hdfs:///other.jar"}))
    image = queue(said(CELEBORN, "root"), said({"jar": "local:/opt/x.jar"})).shuffle
    assert "jar-sha256" not in {word.name for word in image}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"service": "celeborn"}, "Missing"),
        ({name: text for name, text in CELEBORN.items() if name != "jar"}, "remote-shuffle.jar: celeborn cannot be"),
        ({name: text for name, text in CELEBORN.items() if name != "jar-sha256"}, "Missing"),
        (UNIFFLE | {"jar-sha256": DIGEST}, "has no effect with"),
        ({"service": "spark-decommission", "endpoints": "a:1"}, "spark-decommission does not use it"),
        ({"endpoints": "a:1"}, "it has no effect without"),
        (CELEBORN | {"jar-sha256": DIGEST.upper()}, "64 hexadecimal digits"),
        (CELEBORN | {"jar-sha256": DIGEST[1:]}, "64 hexadecimal digits"),
        (CELEBORN | {"spark-version": "newest"}, "a release of Spark"),
        (CELEBORN | {"spark-version": "3.5.9'"}, "a release of Spark"),
        *((CELEBORN | {"endpoints": f"{text}:1"}, "expected host:port") for text in HOSTILE),
        *((CELEBORN | {"jar": f"hdfs:///{text}.jar"}, "an absolute path") for text in HOSTILE),
        *(
            (CELEBORN | {"endpoints": text}, "expected host:port")
            for text in ("a", "a:", ":1", "a:0", "a:65536", "a:1,", "a:1,,b:2", "-a:1", "a:1:2", "[::1]:1", "a:\u0661")
        ),
        (CELEBORN | {"endpoints": ",".join(["a:1"] * (ENDPOINTS_MAX + 1))}, f"at most {ENDPOINTS_MAX}"),
        *(
            (CELEBORN | {"jar": text}, "an absolute path")
            for text in (
                "x.jar",
                "/x.jar",
                "hdfs:x.jar",
                "hdfs:///x.zip",
                "hdfs:///a/../x.jar",
                "hdfs:///a//x.jar",
                "http://h/x.jar",
                "file://host/x.jar",
                "local:/a:b.jar",
                "local:/a,b.jar",
                f"file:/{'a' * JAR_LENGTH_MAX}.jar",
            )
        ),
        (CELEBORN | {"option.spark.shuffle.manager": "x"}, "is not supported: options are"),
        (CELEBORN | {"option.spark.celeborn.client.spark.shuffle.fallback.policy": "NEVER"}, "options are"),
        (CELEBORN | {"option.spark.celeborn.client.spark.shuffle.writer": "hash"}, "expected HASH or SORT"),
    ],
)
def test_what_is_refused(words: dict[str, str], expected: str) -> None:
    with pytest.raises(Refused) as refused:
        words_of(words)
    assert expected in str(refused.value)


@pytest.mark.parametrize(
    "jar", ["hdfs://nn:8020/a/x.jar", "hdfs://ns1/x.jar", "hdfs:/x.jar", "file:/x.jar", "file:///a/x-1_2.12.jar"]
)
def test_jars(jar: str) -> None:
    assert jar in [word.text for word in words_of(CELEBORN | {"jar": jar})]


@pytest.mark.parametrize("name", ["jar", "jar-sha256", "endpoints"])
def test_administrators_of_queues_say_none_of_it(name: str) -> None:
    before, after = TREE | said(CELEBORN), TREE | said(CELEBORN | {name: "x"})
    change = change_between(before, after, version=2, author="alice", time_ms=0, reason="")
    found = first_not_delegated(change.names, {"root", "root.a", "root.a.b"}, lambda path: True)
    assert found == f"{PREFIX}root.a.b.{MARKER}{name}"


def test_celeborn_may_fall_back_or_may_not() -> None:
    lines = {line.key: line.value for line in decision(CELEBORN).lines}
    assert lines == {
        "spark.shuffle.manager": "org.apache.spark.shuffle.celeborn.SparkShuffleManager",
        "spark.celeborn.master.endpoints": "m-1:9097,m-2.example:9097",
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.sql.adaptive.localShuffleReader.enabled": "false",
        "spark.celeborn.client.spark.shuffle.fallback.policy": "AUTO",
        "spark.celeborn.rpc.lookupTimeout": "10s",
        "celeborn.quota.identity.user-specific.tenant": QUEUE,
        "celeborn.quota.identity.user-specific.userName": "alice",
        "spark.celeborn.identity.user-specific.tenant": QUEUE,
        "spark.celeborn.identity.user-specific.userName": "alice",
        "spark.shuffle.sort.io.plugin.class": "org.apache.spark.shuffle.celeborn.CelebornShuffleDataIO",
        "spark.dynamicAllocation.shuffleTracking.enabled": "false",
    }
    refusing = {line.key: line.value for line in decision(CELEBORN | {"when-away": "refuse"}).lines}
    assert "spark.celeborn.rpc.lookupTimeout" not in refusing, "the application waits for its service"
    longer = decision(CELEBORN | {"option.spark.celeborn.rpc.lookupTimeout": "25s"}).lines
    assert [line.value for line in longer if line.key == "spark.celeborn.rpc.lookupTimeout"] == ["25s"]
    assert refusing.items() - lines.items() == {("spark.celeborn.client.spark.shuffle.fallback.policy", "NEVER")}


def test_uniffle_is_asked_or_is_there() -> None:
    lines = {line.key: line.value for line in decision(UNIFFLE).lines}
    assert lines["spark.shuffle.manager"] == "org.apache.spark.shuffle.DelegationRssShuffleManager"
    assert lines["spark.rss.access.id"] == "application_1_0001"
    assert lines["spark.rss.coordinator.quorum"] == "10.0.0.1:19999"
    refusing = {line.key: line.value for line in decision(UNIFFLE | {"when-away": "refuse"}).lines}
    assert refusing["spark.shuffle.manager"] == "org.apache.spark.shuffle.RssShuffleManager"
    assert "spark.rss.access.id" not in refusing


def test_agents_are_told_of_the_jar() -> None:
    told = dict(decision(CELEBORN).told)
    assert told == {
        "service": "celeborn",
        "when-away": "spark",
        "jar": CELEBORN["jar"],
        "jar-sha256": DIGEST,
        "spark-version": "3.5.9",
    }


CORE = "__spark_libs__/spark-core_2.12-{}.jar"


@pytest.mark.parametrize(
    ("resources", "word", "reason"),
    [
        ((CORE.format("3.5.9"),), "4.0", ""),
        ((CORE.format("3.0.0"),), None, ""),
        ((CORE.format("4.0.5"),), "3.5.9", "it has Spark 4.0 with Scala 2.12; clients exist for 3.0 to 3.5"),
        (("/x/spark-core_2.13-3.5.9.jar",), None, "yodel.remote-shuffle.jar of the queue is for Scala 2.12"),
        ((), None, "set yodel.remote-shuffle.spark-version of the queue"),
        ((), "4.3.0", "it has Spark 4.3"),
        ((), "2.4.8", "it has Spark 2.4"),
        ((), "3.5.9_2.13", "for Scala 2.12"),
        ((), "3.5.9_2.12", ""),
        ((LIBRARIES,), "4.3.0", ""),
    ],
)
def test_release_of_spark_is_known_by_its_jars_or_by_the_queue(
    resources: tuple[str, ...], word: str | None, reason: str
) -> None:
    texts = {name: text for name, text in CELEBORN.items() if name != "spark-version"}
    texts |= {} if word is None else {"spark-version": word}
    found = decision(texts, resources=resources)
    assert bool(found.lines) == (not reason)
    assert reason in found.note
    refused = decision(texts | {"when-away": "refuse"}, resources=resources)
    assert refused.is_refused == bool(reason)
    assert reason in refused.refusal


MODULE = "--add-modules=jdk.incubator.vector"


@pytest.mark.parametrize(
    ("word", "command", "python_path", "reason"),
    [
        ("3.5.9", (), "", ""),
        ("3.5.9", (), "{{PWD}}/pyspark.zip<CPS>{{PWD}}/py4j-0.10.9.7-src.zip", ""),
        ("3.5.9", (), "local:/opt/py4j-0.10.9.9-src.zip", "is 3.5, but its PYTHONPATH has py4j 0.10.9.9"),
        ("3.5.9", (), "/mine/py4j-0.10.9.9-src.zip:/theirs/py4j-0.10.9.7-src.zip", ""),
        ("3.5.9", (), "/x/py4j-0.10.9.5-src.zip", "py4j 0.10.9.5"),
        ("3.3.2", (), "/x/py4j-0.10.9.5-src.zip", ""),
        ("3.0.1", (), "/x/py4j-0.10.9-src.zip", ""),
        ("3.2.0", (), "/x/py4j-0.10.9-src.zip", "py4j 0.10.9,"),
        ("3.5.9", (), "/x/py4j-0.10.7-src.zip", ""),
        ("3.5.9", (), "/x/py4j-9.9.9.9.9.9-src.zip", ""),
        ("3.5.9", (MODULE,), "", f"is 3.5, but its command has {MODULE}"),
        ("4.0.5", (MODULE,), "", "clients exist for 3.0 to 3.5"),
    ],
)
def test_hint_contradicts_the_queue_and_then_there_is_no_client(
    word: str, command: tuple[str, ...], python_path: str, reason: str
) -> None:
    words = CELEBORN | {"spark-version": word}
    launch = {"command": (*command, *LAUNCH.command), "environment": {"PYTHONPATH": python_path}}
    found = decision(words, **launch)
    assert bool(found.lines) == (not reason)
    assert reason in found.note
    assert decision(words | {"when-away": "refuse"}, **launch).is_refused == bool(reason)


def test_hint_does_not_replace_the_queue_nor_what_jars_say() -> None:
    unsaid = {name: text for name, text in CELEBORN.items() if name != "spark-version"}
    python_path = {"PYTHONPATH": "/x/py4j-0.10.9.7-src.zip"}
    assert "set yodel.remote-shuffle.spark-version" in decision(unsaid, environment=python_path).note
    assert decision(CELEBORN, command=(MODULE, *LAUNCH.command), resources=(CORE.format("3.5.9"),)).lines


def test_scala_of_the_jars_own_name_counts() -> None:
    texts = CELEBORN | {"jar": "hdfs:///celeborn-client-spark-3-shaded_2.13-0.6.3.jar"}
    assert decision(texts, resources=(CORE.replace("2.12", "2.13").format("3.5.9"),)).lines
    assert "is for Scala 2.13" in decision(texts, resources=(CORE.format("3.5.9"),)).reason


def test_what_is_away_is_gone_without_or_refused() -> None:
    found = decision(CELEBORN, "nobody answers")
    assert (found.lines, found.is_refused) == ((), False)
    assert found.note == f"Without celeborn, which {QUEUE} requires: nobody answers."
    assert ("lines", "none") in found.told, "a submitter who says it himself has the jar all the same"
    found = decision(CELEBORN | {"when-away": "refuse"}, "nobody answers")
    assert (found.note, found.refusal) == ("", f"celeborn, required by {QUEUE}, is not available: nobody answers.")


def test_client_mode_is_never_refused_and_its_executors_have_the_jar() -> None:
    found = decision(CELEBORN | {"when-away": "refuse"}, "nobody answers", command=("java", CLIENT_MODE_CLASS))
    assert "yodel client-config --queue" in found.note
    assert not found.is_refused
    assert dict(found.told)["jar"] == CELEBORN["jar"]
    tagged = decision(CELEBORN, command=("java", CLIENT_MODE_CLASS), tags=(OPT_OUT_TAG,))
    assert tagged.told == ()


@pytest.mark.parametrize("user", ["al ice", "al'ice", "$(id)"])
def test_user_whose_name_is_no_part_of_a_setting_is_left_alone(user: str) -> None:
    assert "its user name cannot be part" in decision(CELEBORN, user=user).note


def test_lines_for_drivers_outside() -> None:
    lines = {line.key: line.value for line in for_submitter(QUEUE, words_of(CELEBORN), "alice")}
    assert lines["# spark.driver.extraClassPath"] == "/shuffle/celeborn_2.12.jar"
    assert lines["spark.driver.extraJavaOptions"] == (
        f"-Dceleborn.quota.identity.user-specific.tenant={QUEUE} -Dceleborn.quota.identity.user-specific.userName=alice"
    )
    assert all(key.removeprefix("# ").startswith("spark.") for key in lines)
    assert PLUGIN not in lines, "without an agent's look at the rest nobody knows that nothing falls back"
    never = {line.key for line in for_submitter(QUEUE, words_of(CELEBORN | {"when-away": "refuse"}), "alice")}
    assert PLUGIN in never
    lines = {line.key: line.value for line in for_submitter(QUEUE, words_of(UNIFFLE), "alice")}
    assert lines["spark.rss.access.id"] == "alice"
    assert lines["spark.driver.extraClassPath"] == "/opt/rss.jar"


@pytest.mark.parametrize("texts", [CELEBORN, UNIFFLE])
def test_everything_that_a_queue_may_say_fits_into_a_token(texts: dict[str, str]) -> None:
    start = texts["jar"].rpartition("/")[0]
    jar = f"{start}/{'a' * (JAR_LENGTH_MAX - len(start) - 5)}.jar"
    found = decision(texts | {"jar": jar, "when-away": "refuse"})
    assert found.lines
    assert len(dict(found.told)["jar"]) == JAR_LENGTH_MAX
    assert sum(len(name) + len(text) for name, text in found.told) < TOLD_BYTES_MAX


@pytest.mark.parametrize("service", SERVICES.values(), ids=lambda service: service.name)
@pytest.mark.parametrize("when_away", ["spark", "refuse"])
def test_table_of_a_service_says_each_key_once_and_nothing_for_a_shell(service: Service, when_away: str) -> None:
    settings = [one for one in service.settings if one.when_away in ("", when_away)]
    assert len({one.key for one in settings}) == len(settings)
    assert not set("".join(one.key + one.value for one in settings)) & set("'\"`$\\;&|<> ")
