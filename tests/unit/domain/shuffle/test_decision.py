"""A queue's words decide for one ApplicationMaster: which lines are added, where they go, and who is left alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from yodel.domain.shuffle.decision import (
    CLIENT_MODE_CLASS,
    MASTER_CLASS,
    OPT_OUT_TAG,
    TOLD_BYTES_MAX,
    MasterLaunch,
    ShuffleDecision,
    completed,
    decided,
)
from yodel.domain.shuffle.spark_decommission import FALLBACK_PATH
from yodel.domain.shuffle.word import ShuffleProperty

QUEUE = "root.a"
WORDS = (ShuffleProperty("service", "spark-decommission", "root"),)
COMMAND = ("{{JAVA_HOME}}/bin/java", "-server", "-Xmx1024m", MASTER_CLASS, "--class", "'My.Main'", "1><LOG_DIR>/stdout")
LAUNCH = MasterLaunch(user="alice", application="application_1_0001", command=COMMAND, environment={})
ENABLED = "spark.decommission.enabled"


def with_path(text: str) -> tuple[ShuffleProperty, ...]:
    return (ShuffleProperty(f"option.{FALLBACK_PATH}", text, QUEUE), *WORDS)


def decision(words: tuple[ShuffleProperty, ...] = WORDS, launch: MasterLaunch = LAUNCH) -> ShuffleDecision:
    found = decided(QUEUE, words, launch)
    assert found is not None
    return found


def test_lines_go_before_the_class_and_say_where_they_come_from() -> None:
    found = decision(with_path("hdfs:///spill/{user}/{application}/"))
    lines = {line.key: (line.value, line.source) for line in found.lines}
    assert lines[ENABLED] == ("true", "yodel.remote-shuffle.service of root")
    source = f"yodel.remote-shuffle.option.{FALLBACK_PATH} of {QUEUE}"
    assert lines[FALLBACK_PATH] == ("hdfs:///spill/alice/application_1_0001/", source)
    command = completed(COMMAND, found.lines)
    at = command.index(MASTER_CLASS)
    assert command[:3] == list(COMMAND[:3])
    assert command[at:] == list(COMMAND[3:])
    assert f"'-D{ENABLED}=true'" in command[3:at]
    assert dict(found.told) == {
        "service": "spark-decommission",
        "when-away": "spark",
        "decommission": "true",
        "fallback": "hdfs:///spill/alice/application_1_0001/",
        "clean-up": "true",
    }
    assert found.note == ""


def test_nothing_is_cleaned_up_without_a_path_and_an_option_replaces_the_setting_of_its_name() -> None:
    keys = {line.key for line in decision().lines}
    assert "spark.storage.decommission.fallbackStorage.cleanUp" not in keys
    rdd = "spark.storage.decommission.rddBlocks.enabled"
    found = decision((ShuffleProperty(f"option.{rdd}", "false", QUEUE), *WORDS))
    assert [line.value for line in found.lines if line.key == rdd] == ["false"]


def test_queue_that_says_nothing_or_none_decides_nothing() -> None:
    assert decided(QUEUE, (), LAUNCH) is None
    assert decided(QUEUE, (ShuffleProperty("service", "none", QUEUE),), LAUNCH) is None


@pytest.mark.parametrize(
    ("launch", "reason"),
    [
        (replace(LAUNCH, tags=(OPT_OUT_TAG,)), f"the application is tagged {OPT_OUT_TAG}"),
        (replace(LAUNCH, command=("java", CLIENT_MODE_CLASS, "--arg")), "yodel client-config --queue"),
        (replace(LAUNCH, command=("java", "org.example.Main")), "it is not a Spark application"),
        (replace(LAUNCH, command=()), "it is not a Spark application"),
        (replace(LAUNCH, command=(), is_unmanaged=True), "its ApplicationMaster is not launched by the cluster"),
        (replace(LAUNCH, command=(*COMMAND, MASTER_CLASS)), "does not occur exactly once"),
        (replace(LAUNCH, command=(f"java -server {MASTER_CLASS} --class X",)), "does not occur exactly once"),
    ],
)
def test_what_cannot_be_completed_is_left_alone_with_the_reason(launch: MasterLaunch, reason: str) -> None:
    for words in (WORDS, (*WORDS, ShuffleProperty("when-away", "refuse", QUEUE))):
        found = decision(words, launch)
        assert reason in found.reason
        assert (found.lines, found.told) == ((), ())
        assert found.note == f"Without spark-decommission, which {QUEUE} requires: {found.reason}."


@pytest.mark.parametrize("user", ["al ice", "al'ice", "../root", "..", "a/b", ".", "", "$(id)", "b\nob", "al{{}}"])
def test_names_that_are_no_part_of_a_setting_are_told(user: str) -> None:
    launch = replace(LAUNCH, user=user)
    assert "its user name cannot be part of a setting" in decision(with_path("hdfs:///spill/{user}/"), launch).reason
    assert decision(WORDS, launch).reason == ""


@pytest.mark.parametrize("user", ["alice@EXAMPLE.ORG", "svc-etl_1"])
def test_names_that_are(user: str) -> None:
    found = decision(with_path("hdfs:///spill/{user}/"), replace(LAUNCH, user=user))
    assert f"hdfs:///spill/{user}/" in [line.value for line in found.lines]


def test_what_the_submitters_own_jvm_options_say_is_not_said_again() -> None:
    own = f"'-D{ENABLED}=false'"
    by_command = replace(LAUNCH, command=("java", own, MASTER_CLASS))
    by_environment = replace(LAUNCH, environment={"JAVA_TOOL_OPTIONS": f"-Xint -D{ENABLED}=false"})
    for launch in (by_command, by_environment):
        found = decision(launch=launch)
        assert ENABLED not in [line.key for line in found.lines]
        assert "decommission" not in dict(found.told)


def test_token_does_not_grow_beyond_its_limit() -> None:
    found = decision(with_path("hdfs:///" + "a" * (TOLD_BYTES_MAX - 100) + "/{user}/"))
    assert "exceed 1024 bytes" in found.reason
    assert found.told == ()
