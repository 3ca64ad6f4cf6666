"""Tez: OrderedWordCount, unmodified from Maven, on the cluster's own Hadoop jars."""

from __future__ import annotations

from collections import Counter

from tests.conformance.clients.mapreduce import hdfs_has
from tests.conformance.clients.mask import masked
from tests.conformance.clients.outcome import Outcome, Scenario
from tests.conformance.clients.target import Target
from tests.support.hadoop_jars import jars

EXAMPLES = "org.apache.tez.examples.ExampleDriver"
VERSION = "0.10.5"
LIBRARY = f"/user/framework/tez-{VERSION}"
TIMEOUT_S = 600
WORDS = ("yodel", "mountain", "valley", "echo", "of", "the")


def ordered_word_count(target: Target) -> Outcome:
    put_library(target)
    folder = target.folder()
    text = "\n".join(" ".join(WORDS[i % 6 :] + WORDS[: i % 4]) for i in range(30_000))
    target.hadoop.hdfs.put(f"{folder}/in/text", text.encode(), user="hdfs")
    options = {
        "tez.lib.uris": f"{target.hadoop.default_fs}{LIBRARY}",
        "tez.use.cluster.hadoop-libs": "true",
        # Its web service needs a Jersey that Hadoop 3.5 no longer has: the master would hang before it registers.
        "tez.am.tez-ui.webservice.enable": "false",
        "tez.am.resource.memory.mb": "1024",
        "tez.task.resource.memory.mb": "512",
    }
    words = [f"-D{name}={value}" for name, value in options.items()]
    job = target.java(
        EXAMPLES, "orderedwordcount", *words, f"{folder}/in", f"{folder}/out", more_classes=f"{jars('tez')}/*"
    )
    result = job.result(TIMEOUT_S)
    if result.returncode != 0 or not result.application_id:
        app = target.application(result.application_id) if result.application_id else {"finalStatus": "none"}
        return Outcome(exit_code=result.returncode, final_status=app["finalStatus"], output=masked(result.text)[-3000:])
    app = target.ended(result.application_id)
    written = {}
    for name in target.hadoop.hdfs.names(f"{folder}/out"):
        if name.startswith("part-"):
            lines = target.hadoop.hdfs.read(f"{folder}/out/{name}").decode().splitlines()
            written |= {word: int(count) for word, count in (line.split("\t") for line in lines)}
    facts = {
        "counts are right": written == dict(Counter(text.split())),
        "type": app["applicationType"],
        "diagnostics": masked(app["diagnostics"]),
    }
    return Outcome(exit_code=result.returncode, final_status=app["finalStatus"], facts=facts)


def put_library(target: Target) -> None:
    for jar in sorted(jars("tez").glob("*.jar")):
        if not hdfs_has(target, f"{LIBRARY}/{jar.name}"):
            target.hadoop.hdfs.put(f"{LIBRARY}/{jar.name}", jar.read_bytes(), user="hdfs")


SCENARIOS = (Scenario(client="Tez", name="OrderedWordCount", run=ordered_word_count, short=True, version=VERSION),)
