"""Words of queues about shuffle: inherited, said again, and refused where they are said."""

from __future__ import annotations

import pytest

from yodel.domain.queues.delegation import first_not_delegated
from yodel.domain.queues.history import change_between
from yodel.domain.queues.importing import understood
from yodel.domain.queues.properties import described, properties_of
from yodel.domain.queues.queue import Queue
from yodel.domain.queues.xml_file import entries
from yodel.domain.scheduler_conf import PREFIX
from yodel.domain.shuffle.spark_decommission import FALLBACK_PATH
from yodel.domain.shuffle.word import ShuffleProperty
from yodel.domain.shuffle.words import MARKER, OPTIONS_MAX, VALUE_LENGTH_MAX, wanted_of
from yodel.errors import Refused

TREE = {
    f"{PREFIX}root.queues": "a",
    f"{PREFIX}root.a.queues": "b",
    f"{PREFIX}root.a.capacity": "100",
    f"{PREFIX}root.a.b.capacity": "100",
}
ON = {"service": "spark-decommission"}
THREADS = "option.spark.storage.decommission.shuffleBlocks.maxThreads"
PATH = f"option.{FALLBACK_PATH}"
CLEAN_UP = "option.spark.storage.decommission.fallbackStorage.cleanUp"


def said(words: dict[str, str], path: str = "root.a.b") -> dict[str, str]:
    return {f"{PREFIX}{path}.{MARKER}{name}": text for name, text in words.items()}


def queue(*words: dict[str, str], path: str = "root.a.b") -> Queue:
    properties = dict(TREE)
    for one in words:
        properties |= one
    return next(queue for queue in described(properties).queues if queue.path == path)


def test_queue_has_what_the_queue_above_it_says() -> None:
    words = queue(said(ON | {THREADS: "4"}, "root"), said({THREADS: "16", "when-away": "refuse"})).shuffle
    assert words == (
        ShuffleProperty(THREADS, "16", "root.a.b"),
        ShuffleProperty("service", "spark-decommission", "root"),
        ShuffleProperty("when-away", "refuse", "root.a.b"),
    )
    wanted = wanted_of(words)
    assert wanted is not None
    assert (wanted.service.name, wanted.when_away) == ("spark-decommission", "refuse")


def test_none_ends_it_and_what_waits_beside_it_may_stay() -> None:
    assert wanted_of(queue().shuffle) is None
    assert wanted_of(queue(said(ON, "root"), said({"service": "none", THREADS: "4"})).shuffle) is None
    below = queue(said(ON | {THREADS: "4"}, "root.a"), said({"service": "none"})).shuffle
    assert below == (ShuffleProperty("service", "none", "root.a.b"),)


def test_rows_say_it_again_and_each_queue_only_its_own() -> None:
    properties = TREE | said(ON, "root.a") | said({PATH: "hdfs://nn:8020/spill/{user}/"})
    queues = described(properties).queues
    again = properties_of(queues, 0.1)
    assert {name: text for name, text in again.items() if MARKER in name} == {
        name: text for name, text in properties.items() if MARKER in name
    }
    assert described(again).queues[-1].shuffle == queues[-1].shuffle


def test_queue_without_words_is_as_before() -> None:
    assert queue().shuffle == ()
    assert queue(said(ON), path="root.a").shuffle == ()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"service": "magnet"}, "expected spark-decommission or celeborn or uniffle or none"),
        ({"endpoints": "a:1", "service": "magnet"}, "expected spark-decommission or celeborn or uniffle or none"),
        ({"service": "spark-decommission none"}, "expected spark-decommission or celeborn or uniffle or none"),
        ({"when-away": "refuse"}, "it has no effect without"),
        ({THREADS: "4"}, "it has no effect without"),
        (ON | {"when-away": "later"}, "'later'; expected spark or refuse"),
        (ON | {"when-awy": "spark"}, "when-awy is not supported: did you mean when-away? supported:"),
        (ON | {"password": "secret"}, "root.a.b.yodel.remote-shuffle.password is not supported"),
        (ON | {"option.spark.shuffle.manager": "x"}, "is not supported: options are"),
        (ON | {"option.": "x"}, "is not supported: options are"),
        (ON | {CLEAN_UP: "true"}, "it has no effect without"),
        (ON | {PATH: "hdfs:///a/{user}/", CLEAN_UP: "yes"}, "expected true or false"),
        (ON | {"option.spark.decommission.enabled": "false"}, "enabled is not supported: did you mean spark."),
        (ON | {THREADS: "many"}, "expected a whole number from 1 to 1000"),
        (ON | {THREADS: "0"}, "expected a whole number from 1 to 1000"),
        (ON | {THREADS: "\u0664"}, "letters, digits and"),
        (ON | {THREADS: "4 4"}, "letters, digits and"),
        (ON | {THREADS: "4'"}, "letters, digits and"),
        (ON | {THREADS: '4"'}, "letters, digits and"),
        (ON | {THREADS: "$(id)"}, "letters, digits and"),
        (ON | {THREADS: "`id`"}, "letters, digits and"),
        (ON | {THREADS: "4;id"}, "letters, digits and"),
        (ON | {THREADS: "4\\"}, "letters, digits and"),
        (ON | {THREADS: "{{PWD}}"}, "letters, digits and"),
        (ON | {THREADS: "<CPS>"}, "letters, digits and"),
        (ON | {THREADS: "4\n-Dx=y"}, "expected printable text"),
        (ON | {PATH: "hdfs:///a/{{user}}/"}, "letters, digits and"),
        (ON | {PATH: "hdfs:///a/{group}/{user}/"}, "letters, digits and"),
        (ON | {PATH: "hdfs:///a/../{user}/"}, "letters, digits and"),
        (ON | {PATH: "hdfs:///" + "a" * VALUE_LENGTH_MAX + "/{user}/"}, f"at most {VALUE_LENGTH_MAX} characters"),
        (ON | {PATH: "hdfs:///a/{user}"}, "expected hdfs:"),
        (ON | {PATH: "hdfs:///a/{application}/"}, "expected hdfs:"),
        (ON | {PATH: "hdfs:///a//{user}/"}, "expected hdfs:"),
        (ON | {PATH: "hdfs:///a/./{user}/"}, "expected hdfs:"),
        (ON | {PATH: "hdfs:a/{user}/"}, "expected hdfs:"),
        (ON | {PATH: "hdfs://{user}/"}, "expected hdfs:"),
        (ON | {PATH: "file:///a/{user}/"}, "expected hdfs:"),
        (ON | {PATH: "s3a://bucket/{user}/"}, "expected hdfs:"),
        (ON | {f"option.k{n}": "1" for n in range(OPTIONS_MAX + 1)}, "Too many"),
        (ON | {f"option.k{n}": "1" for n in range(10_000)}, "Too many"),
    ],
)
def test_what_is_refused_names_the_word_and_what_was_expected(words: dict[str, str], expected: str) -> None:
    with pytest.raises(Refused) as refused:
        queue(said(words))
    assert expected in str(refused.value)
    assert "yodel.remote-shuffle." in str(refused.value)
    assert len(str(refused.value)) < 2_000


@pytest.mark.parametrize(
    "path", ["hdfs:/a/{user}/", "hdfs:///a/{user}/b/", "hdfs://nn:8020/s-{user}/", "hdfs:///{application}/{user}/"]
)
def test_paths_of_fallback_storage(path: str) -> None:
    assert queue(said(ON | {PATH: path})).shuffle[0].text == path


def test_option_that_needs_another_may_have_it_from_above() -> None:
    above = said(ON | {PATH: "hdfs:///a/{user}/"}, "root")
    assert ShuffleProperty(CLEAN_UP, "false", "root.a.b") in queue(above, said({CLEAN_UP: "false"})).shuffle


def test_word_of_the_whole_scheduler_is_none() -> None:
    with pytest.raises(Refused, match="not supported"):
        described(TREE | {f"{PREFIX}{MARKER}service": "spark-decommission"})


def test_only_administrators_of_the_cluster_say_it() -> None:
    change = change_between(TREE, TREE | said(ON), version=2, author="alice", time_ms=0, reason="")
    paths = {"root", "root.a", "root.a.b"}
    assert first_not_delegated(change.names, paths, lambda path: True) == f"{PREFIX}root.a.b.{MARKER}service"


def test_file_with_words_is_taken_over() -> None:
    properties = TREE | said(ON)
    lines = "".join(f"<property><name>{n}</name><value>{v}</value></property>\n" for n, v in properties.items())
    found = understood(entries(f"<configuration>{lines}</configuration>".encode()))
    assert not found.refusals
    assert found.properties == properties
